import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { usd } from '../../src/base/money.ts'
import type { Config } from '../../src/config/config.ts'
import { sandboxKey } from '../../src/config/published.ts'
import { createMeddler } from '../checkout/meddler.ts'
import { preempt, sendFrom } from '../checkout/x402-wallet.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../support/credentials.ts'
import { nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { AT_ONCE, asOperator, buy, buyUrl, eventsOf, LOT_PRICE, payFor, reconcileRail, TOMORROW } from './desk.ts'
import { mppStranger, type Stranger, transfer, x402Stranger } from './strangers.ts'

const DOLLAR = 1_000_000n

const meddler = createMeddler()
let shop: TestShop
let buyer: PrivateKeyAccount
const logged: string[] = []
before(async () => {
  const log = createLog({ level: 'warn', clock: systemClock, write: (line) => logged.push(line) })
  // Nobody reconciles behind the back of these tests.
  const configure = (config: Config) => ({ ...config, limits: { ...config.limits, receiptWaitMs: 300 } })
  shop = await startShop({ withoutWorker: true, log, configure, wrapTransport: meddler.wrap })
  buyer = await fundedWallet(shop)
})
after(() => shop.stop())

const orders = async () =>
  Number((await shop.store.db.query<{ n: string }>('select count(*) as n from orders')).rows[0]!.n)
const transferOf = async (transaction: string) =>
  (
    await shop.store.db.query<{
      id: string
      state: string
      reason: string
      order_id: string | null
      refund_tx: string | null
    }>(
      'select t.*, r.transaction as refund_tx from transfers t left join refunds r on r.transfer_id = t.id where t.transaction = $1',
      [transaction],
    )
  ).rows[0]

test('after sales on both rails the books and the chain agree, and every transfer has its order', async () => {
  for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest]) {
    const { response, body } = await buy(shop, rail, buyer)
    assert.equal(response.status, 200)
    const report = await reconcileRail(shop, rail, AT_ONCE)
    assert.deepEqual([report.difference, report.items], [0n, []])
    assert.equal((await transferOf(body.paymentTx))!.state, 'matched')
  }
})

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
  test(`E30: a payment by ${rail.name} whose block was read from a node that is behind is found by its receipt, though the block is not read again`, async () => {
    verifies('D17.3')
    const policy = { ...AT_ONCE }
    await reconcileRail(shop, rail, policy)
    const { body } = await buy(shop, rail, buyer)
    const mend = meddler.meddle('eth_getLogs', () => [])
    await reconcileRail(shop, rail, policy)
    mend()
    const report = await reconcileRail(shop, rail, policy)
    assert.deepEqual([report.difference, report.items], [0n, []])
    assert.equal((await transferOf(body.paymentTx))!.state, 'matched')
  })

test('E30: a payment that a node neither logs nor has a receipt of stays missing, and is found when the node shows it', async () => {
  verifies('D17.3')
  const rail = mppPullUnderTest
  const kindsOf = async (orderId: string) => {
    const { items } = await reconcileRail(shop, rail, TOMORROW)
    return items.filter((item) => item.orderId === orderId).map(({ kind }) => kind)
  }
  await reconcileRail(shop, rail, TOMORROW)
  const { body } = await buy(shop, rail, buyer)
  const mends = [meddler.meddle('eth_getLogs', () => []), meddler.meddle('eth_getTransactionReceipt', () => null)]
  for (let look = 1; look <= 2; look++) assert.deepEqual(await kindsOf(body.orderId), ['missing'])
  for (const mend of mends) mend()
  assert.deepEqual(await kindsOf(body.orderId), [])
  assert.equal((await transferOf(body.paymentTx))!.state, 'matched')
  assert.equal((await reconcileRail(shop, rail, TOMORROW)).difference, 0n)
})

for (const [name, come] of [
  ['x402', x402Stranger],
  ['mpp', mppStranger],
] as const) {
  describe(`money without an order on ${name}`, () => {
    let stranger: Stranger
    before(async () => {
      stranger = await come(shop)
    })

    test('M-26: is named, told once, and goes back to its sender in full, once', async () => {
      verifies('D17.3')
      const { rail } = stranger
      const transaction = await stranger.give(DOLLAR)
      for (let run = 1; run <= 2; run++) {
        const report = await reconcileRail(shop, rail, TOMORROW)
        assert.equal(report.difference, DOLLAR)
        assert.deepEqual(
          report.items.map(({ kind, amount }) => [kind, amount]),
          [['unmatched', DOLLAR]],
        )
        assert.equal(report.items[0]!.transaction, transaction.toLowerCase())
      }
      const before = await rail.balance(shop, stranger.address)
      for (let run = 1; run <= 2; run++) {
        const report = await reconcileRail(shop, rail, AT_ONCE)
        assert.deepEqual([report.difference, report.items], [0n, []])
      }
      assert.equal((await rail.balance(shop, stranger.address)) - before, DOLLAR, 'read from the chain')
      const { id } = (await transferOf(transaction))!
      const events = await eventsOf(shop, id)
      assert.deepEqual(
        events.map(({ type, data }) => [type, data['status'], data['amount']]),
        [
          ['refund.created', 'returned', '1000000'],
          ['refund.completed', 'returned', '1000000'],
        ],
      )
    })

    test('a refund that was interrupted is finished by the next look, with one transfer', async () => {
      const { rail } = stranger
      const chain = name === 'x402' ? shop.chains.native : shop.chains.tempo
      const asset = name === 'x402' ? shop.config.x402!.asset : shop.config.mpp!.currency.address
      const transaction = await stranger.give(DOLLAR)
      const before = await rail.balance(shop, stranger.address)
      // The refund is signed and written down, and then the node forgets it.
      await chain.request({ method: 'dev_fault', params: [{ kind: 'drop', to: asset, count: 100 }] })
      await reconcileRail(shop, rail, AT_ONCE)
      const begun = (await transferOf(transaction))!
      assert.deepEqual([begun.state, begun.refund_tx], ['returned', null])
      assert.equal(await rail.balance(shop, stranger.address), before)
      await chain.request({ method: 'dev_clearFaults' })
      await reconcileRail(shop, rail, AT_ONCE)
      await reconcileRail(shop, rail, AT_ONCE)
      assert.ok((await transferOf(transaction))!.refund_tx)
      assert.equal((await rail.balance(shop, stranger.address)) - before, DOLLAR)
    })

    test('too little to be worth the way back opens no case; a person may send it back or keep it all the same', async () => {
      verifies('D17.3')
      const { rail } = stranger
      const little = rail === x402UnderTest ? 10_000n : 40n
      const [first, second] = [await stranger.give(little), await stranger.give(2n * little)]
      const report = await reconcileRail(shop, rail, AT_ONCE)
      assert.deepEqual(report.items, [])
      assert.equal((await transferOf(first))!.state, 'unmatched')
      const before = await rail.balance(shop, stranger.address)
      const decide = async (transaction: string, decision: string) =>
        asOperator(shop, `/operator/transfers/${(await transferOf(transaction))!.id}`, post({ decision, by: 'ada' }))
      assert.equal((await decide(first, 'refund')).status, 200)
      assert.equal((await decide(second, 'keep')).status, 200)
      assert.equal((await decide(first, 'refund')).status, 409)
      assert.equal((await decide(second, 'refund')).status, 409)
      assert.equal((await rail.balance(shop, stranger.address)) - before, little)
      assert.deepEqual((await reconcileRail(shop, rail, AT_ONCE)).items, [])
    })
  })
}

describe('a payment that was pushed and never presented', () => {
  const rail = mppPushUnderTest
  const present = (request: object, credential: string) =>
    fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))

  test('goes back though it was for the least that is sold here', async () => {
    verifies('D17.3')
    const ask = (credential?: string) =>
      fetch(`${shop.url}/shop/mpp/player-lookup`, post({}, credential ? { [rail.header]: credential } : {}))
    const before = await rail.balance(shop, buyer.address)
    const credential = await rail.pay(shop, buyer, await ask())
    const fee = before - (await rail.balance(shop, buyer.address)) - 20_000n
    await reconcileRail(shop, rail, AT_ONCE)
    await reconcileRail(shop, rail, AT_ONCE)
    assert.equal(before - (await rail.balance(shop, buyer.address)), fee)
    assert.equal((await ask(credential)).status, 409)
  })

  test('M-26: buys nothing once it was sent back, and its payer is told what became of it', async () => {
    verifies('D6.4')
    const { request, credential } = await payFor(shop, rail, buyer)
    const before = await rail.balance(shop, buyer.address)
    const report = await reconcileRail(shop, rail, AT_ONCE)
    assert.deepEqual(report.items, [])
    assert.equal((await rail.balance(shop, buyer.address)) - before, LOT_PRICE)
    const known = await orders()
    const response = await present(request, credential)
    assert.equal(response.status, 409)
    const { code, payment } = (await response.json()) as { code: string; payment: { taken: boolean } }
    assert.deepEqual([code, payment.taken], ['payment_returned', true])
    assert.equal(await orders(), known)
    const { rows } = await shop.store.db.query<{ transaction: string }>(
      `select transaction from transfers where state = 'returned' order by updated_at desc limit 1`,
    )
    const asked = await fetch(`${shop.url}/payments/${rows[0]!.transaction}`)
    assert.equal(asked.status, 409)
    const { refund, detail } = (await asked.json()) as { refund: { status: string }; detail: string }
    assert.equal(refund.status, 'refunded')
    assert.match(detail, /sent back/)
  })

  test('still buys while it has not gone back, and then nothing goes back', async () => {
    const { request, credential } = await payFor(shop, rail, buyer)
    const { items } = await reconcileRail(shop, rail, TOMORROW)
    assert.deepEqual(
      items.map(({ kind }) => kind),
      ['unmatched'],
    )
    assert.equal((await present(request, credential)).status, 200)
    const before = await rail.balance(shop, buyer.address)
    const report = await reconcileRail(shop, rail, AT_ONCE)
    assert.deepEqual([report.difference, report.items], [0n, []])
    assert.equal(await rail.balance(shop, buyer.address), before)
  })

  test('presented at the very moment it goes back, it buys or goes back, never both', async () => {
    for (let round = 1; round <= 6; round++) {
      const { request, credential } = await payFor(shop, rail, buyer)
      await reconcileRail(shop, rail, TOMORROW)
      const before = await rail.balance(shop, buyer.address)
      const [response] = await Promise.all([present(request, credential), reconcileRail(shop, rail, AT_ONCE)])
      await reconcileRail(shop, rail, AT_ONCE)
      const isSold = response.status === 200
      assert.ok(isSold || response.status === 409, String(response.status))
      const back = (await rail.balance(shop, buyer.address)) - before
      assert.equal(back, isSold ? 0n : LOT_PRICE, `round ${round}: ${response.status}`)
    }
  })
})

describe('an x402 authorization', () => {
  const rail = x402UnderTest
  const decoded = (credential: string) => JSON.parse(Buffer.from(credential, 'base64').toString('utf8'))
  const present = (request: object, credential: string) =>
    fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))

  test('that a stranger brought to the chain before its order goes back, and buys nothing afterwards', async () => {
    const { request, credential } = await payFor(shop, rail, buyer)
    const before = await rail.balance(shop, buyer.address)
    await preempt(shop, decoded(credential))
    await reconcileRail(shop, rail, AT_ONCE)
    assert.equal(await rail.balance(shop, buyer.address), before)
    assert.equal((await present(request, credential)).status, 409)
    assert.deepEqual((await reconcileRail(shop, rail, AT_ONCE)).items, [])
  })

  test('M-26: that lands after its order was given up is a late landing, and goes back', async () => {
    const { request, credential } = await payFor(shop, rail, buyer)
    const before = await rail.balance(shop, buyer.address)
    await shop.chains.native.request({ method: 'dev_fault', params: [{ kind: 'revert', to: shop.config.x402!.asset }] })
    assert.equal((await present(request, credential)).status, 402)
    const transaction = await preempt(shop, decoded(credential))
    await reconcileRail(shop, rail, AT_ONCE)
    const { reason, order_id, refund_tx } = (await transferOf(transaction))!
    assert.match(reason, /after its order had been given up/)
    assert.ok(order_id && refund_tx, 'the order is named')
    assert.equal(await rail.balance(shop, buyer.address), before)
  })
})

test('money of a contract waits for a person: whose it is must be found out first', async () => {
  verifies('D17.3')
  const stranger = await x402Stranger(shop)
  await stranger.give(DOLLAR)
  await shop.chains.native.request({ method: 'dev_setCode', params: [stranger.address, '0x6000'] })
  const report = await reconcileRail(shop, stranger.rail, AT_ONCE)
  assert.deepEqual(
    report.items.map(({ kind, detail }) => [kind, /contract/.test(detail)]),
    [['held', true]],
  )
})

test('what we move between our own addresses is nobody’s payment', async () => {
  const { asset, payTo } = shop.config.x402!
  const account = privateKeyToAccount(sandboxKey('till').reveal() as `0x${string}`)
  const transaction = await sendFrom(shop.chains.native, account, asset, transfer(payTo, DOLLAR))
  await reconcileRail(shop, x402UnderTest, AT_ONCE)
  assert.equal(await transferOf(transaction), undefined)
})

describe('M-19: a chain that changes its mind', () => {
  /** As if no block from now on were final, until the test says so. */
  async function notFinal(chain: TestShop['chains']['native']): Promise<() => void> {
    const pinned = await chain.request({ method: 'eth_blockNumber', params: [] })
    return meddler.meddle('eth_getBlockByNumber', ([tag], ask, chainId) =>
      tag === 'finalized' && chainId === chain.chainId
        ? chain.request({ method: 'eth_getBlockByNumber', params: [pinned, false] })
        : ask(),
    )
  }

  /** Takes back everything since the block before a transaction. */
  async function takeBack(chain: TestShop['chains']['native'], transaction: string, transactions: 'drop' | 'remine') {
    const { blockNumber } = (await chain.request({ method: 'eth_getTransactionReceipt', params: [transaction] })) as {
      blockNumber: string
    }
    const head = Number(await chain.request({ method: 'eth_blockNumber', params: [] }))
    await chain.request({ method: 'dev_reorg', params: [head - Number(blockNumber) + 1, { transactions }] })
  }

  test('a dropped x402 settlement is landed again with the same bytes, and so is its delivery', async () => {
    const rail = x402UnderTest
    const till = await rail.till(shop)
    const finalize = await notFinal(shop.chains.native)
    const { body } = await buy(shop, rail, buyer)
    await reconcileRail(shop, rail, TOMORROW)
    await takeBack(shop.chains.native, body.paymentTx, 'drop')
    finalize()
    assert.equal(await rail.till(shop), till, 'the money is gone')
    const itemsOf = async () => {
      const { items } = await reconcileRail(shop, rail, TOMORROW)
      return items.filter(({ orderId }) => orderId === body.orderId).map(({ kind }) => kind)
    }
    assert.deepEqual(await itemsOf(), ['missing', 'delivery_missing'], 'both were gone when the blocks became final')
    for (let look = 1; look <= 3 && (await itemsOf()).length > 0; look++);
    assert.deepEqual(await itemsOf(), [])
    assert.equal((await rail.till(shop)) - till, LOT_PRICE, 'and is back, once')
    const [nft] = body.nfts
    assert.equal(
      (await nftOwner(shop.chains.native, nft!.contract, nft!.tokenId)).toLowerCase(),
      buyer.address.toLowerCase(),
    )
  })

  for (const depth of [1, 2, 3])
    test(`a reorganisation of ${depth} blocks takes a payment away and gives nothing away: the same payment lands again, once`, async () => {
      const rail = x402UnderTest
      const url = `${shop.url}/x402/cheap-health`
      const credential = await rail.pay(shop, buyer, await fetch(url))
      const till = await rail.till(shop)
      const finalize = await notFinal(shop.chains.native)
      const { orderId } = (await (await fetch(url, { headers: { [rail.header]: credential } })).json()) as {
        orderId: string
      }
      await reconcileRail(shop, rail, TOMORROW)
      for (let block = 1; block < depth; block++) await shop.chains.native.request({ method: 'evm_mine', params: [] })
      await shop.chains.native.request({ method: 'dev_reorg', params: [depth, { transactions: 'drop' }] })
      assert.equal(await rail.till(shop), till, 'the money is gone')
      finalize()
      await reconcileRail(shop, rail, TOMORROW)
      const report = await reconcileRail(shop, rail, TOMORROW)
      assert.deepEqual(
        report.items.filter((item) => item.orderId === orderId),
        [],
      )
      assert.equal((await rail.till(shop)) - till, 1_000n, 'and is back, once')
    })

  test('a large payment is delivered against only when it lies deep enough; until then it is on its way', async () => {
    const rail = x402UnderTest
    const careful = await shop.replica({
      withoutWorker: false,
      configure: (config) => ({
        ...config,
        limits: { ...config.limits, waitMsMax: 100 },
        x402: { ...config.x402!, confirmations: [{ fromAmount: usd(LOT_PRICE), blocks: 3 }] },
      }),
    })
    const { request, credential } = await payFor(shop, rail, buyer)
    const till = await rail.till(shop)
    const first = await fetch(`${careful.url}/agentic/x402/buy`, post(request, { [rail.header]: credential }))
    assert.equal(first.status, 202)
    const { orderId, status } = (await first.json()) as { orderId: string; status: string }
    assert.equal(status, 'settling')
    assert.equal((await rail.till(shop)) - till, LOT_PRICE, 'it has landed')
    const order = async () => (await careful.checkout.orders.byId(orderId))!
    const mine = () => shop.chains.native.request({ method: 'evm_mine', params: [] })
    await mine()
    assert.equal((await order()).status, 'settling', 'two blocks are not three')
    await mine()
    await until(async () => (await order()).status === 'confirmed')
    await careful.stop()
  })

  test('a payment that never lands again stays named as missing, and people are told once', async () => {
    const rail = mppPullUnderTest
    const finalize = await notFinal(shop.chains.tempo)
    const { body } = await buy(shop, rail, buyer)
    await reconcileRail(shop, rail, TOMORROW)
    await takeBack(shop.chains.tempo, body.paymentTx, 'drop')
    finalize()
    for (let run = 1; run <= 2; run++) {
      const report = await reconcileRail(shop, rail, TOMORROW)
      assert.deepEqual(
        report.items.map(({ kind, orderId }) => [kind, orderId]),
        [['missing', body.orderId]],
      )
      assert.equal(report.difference, -LOT_PRICE)
    }
    const alarms = logged.filter((line) => line.includes('do not show a payment') && line.includes(body.orderId))
    assert.equal(alarms.length, 1)
    const { status } = (await shop.service.checkout.orders.byId(body.orderId))!
    assert.equal(status, 'confirmed', 'and nothing is delivered again')
  })

  test('M-26: a payment that another transaction brought in the end pays the order that has its name', async () => {
    const rail = x402UnderTest
    const finalize = await notFinal(shop.chains.native)
    const { body, credential } = await buy(shop, rail, buyer)
    await takeBack(shop.chains.native, body.paymentTx, 'drop')
    const transaction = await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString('utf8')))
    finalize()
    for (let look = 1; look <= 3; look++) await reconcileRail(shop, rail, AT_ONCE)
    const { state, order_id } = (await transferOf(transaction))!
    assert.deepEqual([state, order_id], ['matched', body.orderId])
    assert.equal((await shop.service.checkout.orders.byId(body.orderId))!.settlement!.transaction, transaction)
    const { items } = await reconcileRail(shop, rail, AT_ONCE)
    assert.ok(items.every(({ orderId }) => orderId !== body.orderId))
  })

  test('a payment that is mined again in another block is no difference', async () => {
    const rail = mppPushUnderTest
    const before = await reconcileRail(shop, rail, TOMORROW)
    const finalize = await notFinal(shop.chains.tempo)
    const { body } = await buy(shop, rail, buyer)
    await reconcileRail(shop, rail, TOMORROW)
    await takeBack(shop.chains.tempo, body.paymentTx, 'remine')
    finalize()
    const report = await reconcileRail(shop, rail, TOMORROW)
    assert.deepEqual([report.difference, report.items], [before.difference, before.items])
  })
})
