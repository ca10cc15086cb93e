import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { encodeDeployData, getContractAddress, type Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import { saleLots } from '../../src/artifacts/SaleLots.ts'
import { ZERO_ADDRESS } from '../../src/base/address.ts'
import { invocation } from '../../src/chain/act.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { deafReceiver } from '../artifacts/DeafReceiver.ts'
import { rejectingReceiver } from '../artifacts/RejectingReceiver.ts'
import { nftsOf, transfers } from '../crash/flows.ts'
import { fundedWallet, lotFor, post } from '../support/buyers.ts'
import { nativeCall } from '../support/chain-reads.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { scriptedWaypoint } from '../support/scripted-waypoint.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { ended, orderCount, said, setLot, verdict } from './counter.ts'
import { createMeddler } from './meddler.ts'
import { encoded, paymentFor, requiredOf } from './x402-wallet.ts'

// Paid. From here on it ends delivered or refunded, never both and never neither.

const FEW = 76
const CLOSING = 77
const PRICE = 250_000n

const meddler = createMeddler()
const { waypoint, when, clear } = scriptedWaypoint()
let shop: TestShop
/** The same shop, which gives up on a mint after a second and a half: long enough to send one on a busy machine. */
let hasty: string
before(async () => {
  shop = await startShop({
    wrapTransport: meddler.wrap,
    waypoint,
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, receiptWaitMs: 300, waitMsMax: 20_000 },
    }),
  })
  for (const lot of [FEW, CLOSING]) await setLot(shop, lot, { price: '0.25', supply: 5n })
})
after(() => shop.stop())

const sale = () => shop.world.contracts.sale

async function buy(buyer: PrivateKeyAccount, body: object, at = shop.url): Promise<Response> {
  const url = `${at}/agentic/x402/buy`
  const payment = await paymentFor(buyer, requiredOf(await fetch(url, post(body))))
  return fetch(url, post(body, { 'payment-signature': encoded(payment) }))
}

/** Asks the chain: what was paid, what went back, and how many tokens arrived? */
async function books(buyer: { address: `0x${string}` }) {
  const paid = await transfers(shop, x402UnderTest, buyer.address, shop.config.x402!.payTo)
  const refunded = await transfers(shop, x402UnderTest, demoAddressOf('treasury'), buyer.address)
  return { paid, refunded, tokens: await nftsOf(shop.chains, sale(), buyer.address) }
}

const delivered = { paid: [PRICE], refunded: [], tokens: 1 }
const sentBack = { paid: [PRICE], refunded: [PRICE], tokens: 0 }

describe('F-01: a mint that reverts', () => {
  test('although its trial went well is given up at once, and the money goes back: it costs us gas only once', async () => {
    const buyer = await fundedWallet(shop)
    await nativeCall(shop, 'dev_fault', { kind: 'revert', to: sale() })
    const response = await buy(buyer, lotFor(buyer))
    const { code, refund, payment } = await said(response)
    assert.deepEqual([response.status, code, payment.taken], [409, 'fulfilment_failed', true])
    assert.equal(refund?.status, 'refunded')
    assert.deepEqual(await books(buyer), sentBack)
    // The payment itself went well, and its receipt says so; it is not pending any more.
    const receipt = JSON.parse(Buffer.from(response.headers.get('payment-response')!, 'base64').toString())
    assert.deepEqual([receipt.success, receipt.errorReason, receipt.payer], [true, undefined, buyer.address])
  })

  test('because the contract is paused, waits until it is not', async () => {
    const buyer = await fundedWallet(shop)
    const act = (name: 'pause' | 'unpause') => shop.world.deployer.act(invocation(sale(), saleLots.abi, name, []))
    const looks = () => meddler.seen('eth_call').length
    let before = Number.POSITIVE_INFINITY
    when('order.settled', async () => {
      await act('pause')
      before = looks()
    })
    const bought = buy(buyer, lotFor(buyer))
    await until(async () => looks() > before + 4)
    await act('unpause')
    assert.equal((await bought).status, 200)
    assert.deepEqual(await books(buyer), delivered)
  })

  test('because the contract was paused just before it landed, is sent again when it is open', async () => {
    const buyer = await fundedWallet(shop)
    const act = (name: 'pause' | 'unpause') => shop.world.deployer.act(invocation(sale(), saleLots.abi, name, []))
    // The trial went well; the settlement was the first signature, the mint is the second.
    when('order.settled', async () => when('send.signed', () => act('pause')))
    const bought = buy(buyer, lotFor(buyer))
    await until(async () => (await mintsOf(buyer)) === 1)
    const looks = () => meddler.seen('eth_call').length
    const before = looks()
    await until(async () => looks() > before + 3)
    await act('unpause')
    assert.equal((await bought).status, 200)
    assert.equal(await mintsOf(buyer), 2)
    assert.deepEqual(await books(buyer), delivered)
  })

  /** How many mints were signed for this buyer. */
  async function mintsOf(buyer: { address: string }): Promise<number> {
    const { rows } = await shop.store.db.query<{ n: number }>(
      `select count(*)::int as n from sends s join orders o on o.id = s.order_id where o.payer = $1 and s.step like 'mint%'`,
      [buyer.address],
    )
    return rows[0]!.n
  }
})

describe('the time for a mint is over', () => {
  before(async () => {
    const { url } = await shop.replica({
      configure: (config) => ({
        ...config,
        limits: { ...config.limits, delivery: { ...config.limits.delivery, mintMs: 1_500 } },
      }),
    })
    hasty = url
  })

  test('while its transaction hangs: it is cancelled first, then refunded, and never lands', async () => {
    const buyer = await fundedWallet(shop)
    await nativeCall(shop, 'dev_fault', { kind: 'stick', to: sale() })
    const response = await buy(buyer, lotFor(buyer), hasty)
    assert.equal(response.status, 409)
    assert.equal((await ended(shop, 'x402', (await said(response)).orderId)).status, 'refunded')
    await nativeCall(shop, 'dev_clearFaults')
    assert.deepEqual(await books(buyer), sentBack)
    // The key is not blocked by what it cancelled, for whoever has more patience.
    const next = await fundedWallet(shop)
    // A replica that saw the key jammed looks again after two seconds.
    await until(async () => (await fetch(`${shop.url}/agentic/x402/buy`, post(lotFor(next)))).status === 402)
    assert.equal((await buy(next, lotFor(next))).status, 200)
  })

  test('and it lands in the moment it is cancelled: delivered, and not refunded', async () => {
    const buyer = await fundedWallet(shop)
    await nativeCall(shop, 'dev_fault', { kind: 'stick', to: sale() })
    let raws = new Set<string>()
    const stop = meddler.meddle('eth_sendRawTransaction', async ([raw = ''], ask, chainId) => {
      if (chainId !== 84532) return ask()
      const isNew = !raws.has(raw)
      raws = raws.add(raw)
      // The settlement, the mint, and then the transaction that is to cancel it, which never arrives.
      if (raws.size < 3 || !isNew) return ask()
      await nativeCall(shop, 'dev_clearFaults')
      return `0x${'0'.repeat(64)}`
    })
    const response = await buy(buyer, lotFor(buyer), hasty)
    stop()
    assert.equal(response.status, 200)
    assert.deepEqual(await books(buyer), delivered)
  })
})

describe('a refund', () => {
  const fail = async () => nativeCall(shop, 'dev_fault', { kind: 'revert', to: sale() })

  test('whose answer is lost is sent once', async () => {
    const buyer = await fundedWallet(shop)
    await fail()
    when('refund.created', () => nativeCall(shop, 'dev_fault', { kind: 'lose', method: 'eth_sendRawTransaction' }))
    const response = await buy(buyer, lotFor(buyer))
    assert.equal((await ended(shop, 'x402', (await said(response)).orderId)).status, 'refunded')
    assert.deepEqual(await books(buyer), sentBack)
  })

  test('that the chain forgot is sent again, and arrives once', async () => {
    const buyer = await fundedWallet(shop)
    await fail()
    when('refund.created', () => nativeCall(shop, 'dev_fault', { kind: 'drop', to: shop.config.x402!.asset }))
    const response = await buy(buyer, lotFor(buyer))
    assert.equal((await ended(shop, 'x402', (await said(response)).orderId)).status, 'refunded')
    assert.deepEqual(await books(buyer), sentBack)
  })

  test('waits for an empty treasury to be filled', async () => {
    const buyer = await fundedWallet(shop)
    const { asset } = shop.config.x402!
    const treasury = demoAddressOf('treasury')
    const filling = await erc20Balance(shop.chains.native, asset, treasury)
    const thief = await fundedWallet(shop)
    await fail()
    when('refund.created', () => nativeCall(shop, 'dev_systemCall', asset, emptied(treasury)))
    const bought = buy(buyer, lotFor(buyer))
    await until(async () => (await refunding(buyer)) === 'refunding')
    const looks = () => meddler.seen('eth_call').length
    const before = looks()
    await until(async () => looks() > before + 3)
    assert.deepEqual((await books(buyer)).refunded, [])
    await nativeCall(shop, 'dev_systemCall', asset, unblacklisted(treasury))
    const response = await bought
    assert.equal((await ended(shop, 'x402', (await said(response)).orderId)).status, 'refunded')
    assert.deepEqual(await books(buyer), sentBack)
    assert.ok(filling > 0n && thief)
  })

  async function refunding(buyer: { address: string }): Promise<string | undefined> {
    const { rows } = await shop.store.db.query<{ status: string }>('select status from orders where payer = $1', [
      buyer.address,
    ])
    return rows[0]?.status
  }
  /** The token's own keys stop the treasury from sending: what an empty one comes to, without moving its money about. */
  const emptied = (address: string): Hex => `0xf9f92be4${address.slice(2).toLowerCase().padStart(64, '0')}`
  const unblacklisted = (address: string): Hex => `0x1a895266${address.slice(2).toLowerCase().padStart(64, '0')}`
})

test('F-03: of forty buyers of the last five, five are charged and served', async () => {
  const buyer = await fundedWallet(shop)
  const before = await erc20Balance(shop.chains.native, shop.config.x402!.asset, buyer.address)
  const beneficiaries = Array.from({ length: 40 }, () => privateKeyToAddress(generatePrivateKey()))
  const answers = await Promise.all(beneficiaries.map((beneficiary) => buy(buyer, { saleId: FEW, beneficiary })))
  const verdicts = await Promise.all(answers.map(verdict))
  assert.equal(verdicts.filter(([status]) => status === 200).length, 5)
  assert.deepEqual(
    verdicts.filter(([status]) => status !== 200),
    Array.from({ length: 35 }, () => [409, 'sold_out']),
  )
  const after = await erc20Balance(shop.chains.native, shop.config.x402!.asset, buyer.address)
  assert.equal(before - after, 5n * PRICE)
  const minted = await Promise.all(beneficiaries.map((address) => nftsOf(shop.chains, sale(), address)))
  assert.equal(
    minted.reduce((sum, count) => sum + count, 0),
    5,
  )
})

describe('E6: who cannot receive', () => {
  async function deployed(artifact: { abi: readonly unknown[]; bytecode: Hex }): Promise<`0x${string}`> {
    const deployer = privateKeyToAccount(generatePrivateKey())
    await nativeCall(shop, 'dev_setBalance', deployer.address, '0xde0b6b3a7640000')
    const raw = await deployer.signTransaction({
      type: 'eip1559',
      chainId: 84532,
      nonce: 0,
      data: encodeDeployData({ abi: artifact.abi, bytecode: artifact.bytecode, args: [] } as never),
      gas: 2_000_000n,
      maxFeePerGas: 20_000_000_000n,
      maxPriorityFeePerGas: 1_000_000n,
    })
    await nativeCall(shop, 'eth_sendRawTransaction', raw)
    return getContractAddress({ from: deployer.address, nonce: 0n })
  }

  test('is refused before anything is taken', async () => {
    verifies('D3.3')
    const buyer = await fundedWallet(shop)
    const { asset, payTo } = shop.config.x402!
    for (const [beneficiary, status, code] of [
      [await deployed(deafReceiver), 409, 'beneficiary_rejects'],
      [await deployed(rejectingReceiver), 409, 'beneficiary_rejects'],
      [asset, 400, 'invalid_beneficiary'],
      [payTo, 400, 'invalid_beneficiary'],
      [sale(), 400, 'invalid_beneficiary'],
    ] as const) {
      const before = await orderCount(shop)
      const response = await buy(buyer, { saleId: 392, beneficiary })
      const { payment, ...said_ } = await said(response)
      assert.deepEqual([response.status, said_.code, payment.taken], [status, code, false])
      assert.equal(await orderCount(shop), before)
    }
    const zero = await fetch(`${shop.url}/agentic/x402/buy`, post({ saleId: 392, beneficiary: ZERO_ADDRESS }))
    assert.deepEqual(await verdict(zero), [400, 'invalid_beneficiary'])
    assert.deepEqual(await books(buyer), { paid: [], refunded: [], tokens: 0 })
  })
})

test('M-01: a caller who hangs up in the middle finds the purchase made, and pays once', async () => {
  const buyer = await fundedWallet(shop)
  const url = `${shop.url}/agentic/x402/buy`
  const payment = await paymentFor(buyer, requiredOf(await fetch(url, post(lotFor(buyer)))))
  const init = post(lotFor(buyer), { 'payment-signature': encoded(payment) })
  for (const point of ['order.opened', 'settle.done', 'deliver.done', 'answer.ready'] as const) {
    const hangUp = new AbortController()
    when(point, async () => hangUp.abort())
    await fetch(url, { ...init, signal: hangUp.signal }).catch(() => {})
    clear()
  }
  const response = await fetch(url, init)
  assert.equal(response.status, 200)
  assert.deepEqual(await books(buyer), delivered)
})

test('M-23: a quantity out of range is refused before it is priced', async () => {
  verifies('D3.5')
  const url = `${shop.url}/agentic/x402/buy`
  const body = { saleId: 392, beneficiary: demoAddressOf('demo') }
  for (const quantity of [0, -1, 1.5, '1', 101, 1e308, 2 ** 53 + 2, true, null, [1]]) {
    const response = await fetch(url, post({ ...body, quantity }))
    assert.equal(response.status, 400, JSON.stringify(quantity))
    assert.equal(response.headers.get('payment-required'), null)
  }
  const most = requiredOf(await fetch(url, post({ ...body, quantity: 100 })))
  assert.equal(most.accepts[0].amount, (100n * PRICE).toString())
  assert.equal((await fetch(url, post('{"saleId":392,"quantity":1e400}'))).status, 400)
})

test('E11: a lot that is closed while an order is open still owes its token, and nobody else is sold one', async () => {
  const url = `${shop.url}/agentic/x402/buy`
  const [buyer, late] = [await fundedWallet(shop), await fundedWallet(shop)]
  const body = { ...lotFor(late), saleId: CLOSING }
  const credential = encoded(await paymentFor(late, requiredOf(await fetch(url, post(body)))))
  when('order.settled', () => setLot(shop, CLOSING, { price: '0.25', supply: 5n, closesAt: 1n }))
  assert.equal((await buy(buyer, { ...lotFor(buyer), saleId: CLOSING })).status, 200)
  assert.deepEqual(await books(buyer), delivered)
  const refused = await fetch(url, post(body, { 'payment-signature': credential }))
  assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [409, 'sale_not_active'])
  assert.deepEqual(await books(late), { paid: [], refunded: [], tokens: 0 })
})
