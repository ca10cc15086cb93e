import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { generatePrivateKey, type PrivateKeyAccount } from 'viem/accounts'
import type { Hash } from '../../../src/base/address.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { Secret } from '../../../src/base/secret.ts'
import { refundOrder } from '../../../src/checkout/refund.ts'
import { startWorker } from '../../../src/checkout/worker.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { movableClock } from '../../checkout/counter.ts'
import { transfers } from '../../crash/flows.ts'
import { buy, LOT_PRICE, letRunOut, reconcileRail } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { nativeCall, saleTokensOf } from '../../support/chain-reads.ts'
import { edited, mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { drop, hashOf } from '../support/stepped-shop.ts'

// A reorganisation takes back what an order counts on: the mint, or the refund, and nothing else. The books of payments are even.

let shop: TestShop
let buyer: PrivateKeyAccount
const logged: string[] = []
const clock = movableClock()
/** What happens between a delivery that failed and its refund. */
let onFailed: () => Promise<void> = async () => {}
before(async () => {
  const log = createLog({ level: 'error', clock: systemClock, write: (line) => logged.push(line) })
  const configure = (config: TestShop['config']) => ({ ...config, limits: { ...config.limits, receiptWaitMs: 500 } })
  const waypoint = async (name: string) => void (name === 'order.failed' && (await onFailed()))
  shop = await startShop({ withoutWorker: true, clock, log, configure, waypoint })
})
after(() => shop.stop())

const chainOf = ({ rail }: RailUnderTest) => (rail === 'mpp' ? shop.chains.tempo : shop.chains.native)
const refunds = (rail: RailUnderTest, owner: PrivateKeyAccount) =>
  transfers(shop, rail, demoAddressOf('treasury'), owner.address)

for (const rail of [x402UnderTest, mppPullUnderTest]) {
  describe(`an order paid by ${rail.name}`, () => {
    before(async () => {
      buyer = await fundedWallet(shop)
    })

    test('E20: whose mint alone is dropped gets its token back, from the same bytes, and is named', async () => {
      const { response, body } = await buy(shop, rail, buyer)
      assert.equal(response.status, 200)
      const mint = await hashOf(shop, body.orderId, 'mint')
      await drop(shop.chains.native, mint)
      assert.equal(await saleTokensOf(shop, buyer), 0)
      const { items, difference } = await reconcileRail(shop, rail)
      assert.deepEqual(
        items.map(({ kind, orderId, transaction, amount }) => [kind, orderId, transaction, amount]),
        [['delivery_missing', body.orderId, mint, LOT_PRICE]],
      )
      assert.equal(difference, 0n)
      assert.equal(await saleTokensOf(shop, buyer), 1)
      assert.ok(await nativeCall(shop, 'eth_getTransactionReceipt', mint))
      assert.match(logged.join(''), new RegExp(`dropped a delivery or a refund.*${body.orderId}`))
      // It has landed again, and there is nothing left to say.
      assert.deepEqual((await reconcileRail(shop, rail)).items, [])
      assert.equal(await saleTokensOf(shop, buyer), 1)
    })

    test('E20: whose refund alone is dropped gets its money, once, and is named', async () => {
      const { body } = await buy(shop, rail, buyer)
      await refundOrder(shop.service.checkout, body.orderId, { reason: 'a test', by: 'ada' })
      const before = (await refunds(rail, buyer)).length
      const refund = await hashOf(shop, body.orderId, 'refund')
      await drop(chainOf(rail), refund)
      assert.equal((await refunds(rail, buyer)).length, before - 1)
      const { items } = await reconcileRail(shop, rail)
      assert.deepEqual(
        items.map(({ kind, orderId, transaction }) => [kind, orderId, transaction]),
        [['refund_missing', body.orderId, refund]],
      )
      for (let look = 0; look < 3; look++) await reconcileRail(shop, rail)
      assert.equal((await refunds(rail, buyer)).length, before)
      assert.deepEqual((await reconcileRail(shop, rail)).items, [])
    })
  })
}

describe('a dropped delivery', () => {
  before(async () => {
    buyer = await fundedWallet(shop)
  })

  test('that was only mined again in another block is not missing', async () => {
    const before = await saleTokensOf(shop, buyer)
    await buy(shop, x402UnderTest, buyer)
    await nativeCall(shop, 'dev_reorg', '0x3')
    assert.deepEqual((await reconcileRail(shop, x402UnderTest)).items, [])
    assert.equal(await saleTokensOf(shop, buyer), before + 1)
  })

  test('is watched until it lies deep, and not longer', async () => {
    await buy(shop, x402UnderTest, buyer)
    const open = async () => {
      const { rows } = await shop.store.db.query<{ n: number }>(
        `select count(*)::int as n from sends s join orders o on o.id = s.order_id
         where o.rail = 'x402' and o.status = 'confirmed' and landed_block is not null and not buried`,
      )
      return rows[0]!.n
    }
    await reconcileRail(shop, x402UnderTest)
    assert.ok((await open()) > 0)
    for (let block = 0; block < 130; block++) await nativeCall(shop, 'evm_mine')
    await reconcileRail(shop, x402UnderTest)
    assert.equal(await open(), 0)
  })
})

describe('what the chain drops after its key was rotated away', () => {
  let successor: Pick<TestShop, 'service'>
  before(async () => {
    buyer = await fundedWallet(shop)
    const key = new Secret(generatePrivateKey())
    const service = await shop.replica({
      configure: ({ x402, mpp, game, ...config }) => ({
        ...config,
        x402: { ...x402!, treasuryKey: key, facilitator: { kind: 'inproc', settlerKey: key } },
        mpp: { ...mpp!, treasuryKey: key },
        game: { ...game, sale: { ...game.sale!, minterKey: key } },
      }),
    })
    successor = { service }
  })
  const named = async (rail: RailUnderTest, { orderId: id }: { orderId: string }) =>
    (await reconcileRail(successor, rail)).items.filter(({ orderId }) => orderId === id).map(({ kind }) => kind)

  test('E20: a mint is brought back from the same bytes, and is named', async () => {
    const before = await saleTokensOf(shop, buyer)
    const { body } = await buy(shop, x402UnderTest, buyer)
    await drop(shop.chains.native, await hashOf(shop, body.orderId, 'mint'))
    assert.equal(await saleTokensOf(shop, buyer), before)
    assert.deepEqual(await named(x402UnderTest, body), ['delivery_missing'])
    assert.equal(await saleTokensOf(shop, buyer), before + 1)
    assert.deepEqual(await named(x402UnderTest, body), [])
  })

  for (const rail of [x402UnderTest, mppPullUnderTest])
    test(`E20: so is a refund by ${rail.name}, once`, async () => {
      const { body } = await buy(shop, rail, buyer)
      await refundOrder(shop.service.checkout, body.orderId, { reason: 'a test', by: 'ada' })
      const before = (await refunds(rail, buyer)).length
      await drop(chainOf(rail), await hashOf(shop, body.orderId, 'refund'))
      assert.equal((await refunds(rail, buyer)).length, before - 1)
      assert.deepEqual(await named(rail, body), ['refund_missing'])
      assert.deepEqual(await named(rail, body), [])
      assert.equal((await refunds(rail, buyer)).length, before)
    })

  test('E20: so is the settlement of a payment', async () => {
    const before = await x402UnderTest.till(shop)
    const { body } = await buy(shop, x402UnderTest, buyer)
    await drop(shop.chains.native, body.paymentTx)
    assert.equal(await x402UnderTest.till(shop), before)
    await reconcileRail(successor, x402UnderTest)
    assert.equal(await x402UnderTest.till(shop), before + LOT_PRICE)
    for (let look = 0; look < 3; look++) await reconcileRail(successor, x402UnderTest)
    assert.deepEqual(await named(x402UnderTest, body), [])
  })

  test('E20: and what was only mined again in another block is not missing', async () => {
    const before = await saleTokensOf(shop, buyer)
    const { body } = await buy(shop, x402UnderTest, buyer)
    await nativeCall(shop, 'dev_reorg', '0x3')
    assert.deepEqual(await named(x402UnderTest, body), [])
    assert.equal(await saleTokensOf(shop, buyer), before + 1)
  })
})

describe('M-19: a payment that was dropped before the delivery failed', () => {
  const rail = mppPullUnderTest
  const failed = async () => {
    const { rows } = await shop.store.db.query<{ id: string; payment_tx: Hash; tries: string }>(
      `select id, payment_tx, tries::text as tries from orders where status = 'failed' order by created_at desc`,
    )
    return rows[0]!
  }
  /** Its mint always fails, and by then its payment is gone. */
  const buyInVain = async () => {
    buyer = await fundedWallet(shop)
    onFailed = async () => void (await drop(shop.chains.tempo, (await failed()).payment_tx))
    const sold = await buy(shop, rail, buyer, { saleId: 399 })
    onFailed = async () => {}
    assert.ok([202, 409].includes(sold.response.status), String(sold.response.status))
    assert.deepEqual(await refunds(rail, buyer), [])
    assert.match((await failed()).tries, /has to show its payment/)
    return sold
  }
  const workUntil = async (isDone: () => Promise<boolean>) => {
    await shop.store.db.query(`update jobs set run_at = now() where key = $1`, [(await failed()).id])
    const worker = startWorker(shop.service.checkout)
    await until(isDone)
    await worker.stop()
  }
  const letWait = async () => {
    const { id } = await failed()
    await letRunOut(shop, id)
    await workUntil(async () => (await shop.service.checkout.orders.byId(id))!.refundHeld)
    return id
  }
  const bringBack = async (credential: string) => {
    let raw = ''
    edited(credential, ({ payload }) => {
      raw = (payload as unknown as { signature: string }).signature
    })
    await shop.chains.tempo.request({ method: 'eth_sendRawTransaction', params: [raw] })
    await workUntil(async () => (await refunds(rail, buyer)).length === 1)
  }

  test('is not sent back by itself: after an hour a person is asked, and may', async () => {
    await buyInVain()
    const id = await letWait()
    assert.ok(logged.some((line) => line.includes('refund waits for an operator to decide') && line.includes(id)))
    assert.equal((await refundOrder(shop.service.checkout, id, { reason: 'good will', by: 'ada' })).status, 'refunded')
    assert.equal((await refunds(rail, buyer)).length, 1)
  })

  test('is sent back when it is there again', async () => {
    const { credential } = await buyInVain()
    await bringBack(credential)
  })

  test('is sent back when it is there again, also where a person is asked by then', async () => {
    const { credential } = await buyInVain()
    await letWait()
    await bringBack(credential)
  })
})
