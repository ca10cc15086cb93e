import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Hash } from '../../../src/base/address.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { said } from '../../checkout/counter.ts'
import { encoded, paymentFor, preempt, requiredOf } from '../../checkout/x402-wallet.ts'
import { nftsOf, transfers } from '../../crash/flows.ts'
import { AT_ONCE, reconcileRail } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { drop, hashOf, step } from '../support/stepped-shop.ts'

// Two transactions carry the same payment to the chain, ours and a stranger's (or that of another settler of ours). The first one paid, the
// other one reverted. The chain takes the first one back, and now the other one pays.

let shop: TestShop
let waypoint: Waypoint = noWaypoint
before(async () => {
  shop = await startShop({
    withoutWorker: true,
    waypoint: (name) => waypoint(name),
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 60_000, receiptWaitMs: 300 } }),
  })
})
after(() => shop.stop())

const paidBy = async (orderId: string) => (await shop.service.checkout.orders.byId(orderId))!.settlement!.transaction

/** With the waits of a shop that sells. */
const named = async () =>
  (await reconcileRail(shop, x402UnderTest)).items.map(({ kind, detail }) => `${kind}: ${detail}`)

async function buyPreempted(buyer: PrivateKeyAccount, saleId: number, onFailed: (hash: Hash) => Promise<void>) {
  const url = `${shop.url}/agentic/x402/buy`
  const body = { saleId, beneficiary: buyer.address }
  const payment = await paymentFor(buyer, requiredOf(await fetch(url, post(body))))
  let hash: Hash = '0x'
  waypoint = async (name) => {
    if (name === 'settle.begun' && hash === '0x') hash = (await preempt(shop, payment)) as Hash
    if (name === 'order.failed') await onFailed(hash)
  }
  const answer = await said(await fetch(url, post(body, { 'payment-signature': encoded(payment) })))
  waypoint = noWaypoint
  return { hash, payment, orderId: answer.orderId }
}

/** The price of the lot, and nobody comes to buy it. */
async function payBeside(buyer: PrivateKeyAccount): Promise<void> {
  const unpaid = await fetch(`${shop.url}/agentic/x402/buy`, post({ saleId: 392, beneficiary: buyer.address }))
  await preempt(shop, await paymentFor(buyer, requiredOf(unpaid)))
}

test('E56: an order that was delivered is paid by the other one, and the books say so', async () => {
  const buyer = await fundedWallet(shop)
  const till = await x402UnderTest.till(shop)
  const { hash, orderId } = await buyPreempted(buyer, 392, async () => {})
  const order = (await shop.service.checkout.orders.byId(orderId))!
  assert.deepEqual([order.status, order.settlement?.transaction], ['confirmed', hash])
  await reconcileRail(shop, x402UnderTest)
  await drop(shop.chains.native, hash)
  assert.equal(await x402UnderTest.till(shop), till + 250_000n)
  for (let look = 0; look < 3; look++) await reconcileRail(shop, x402UnderTest, AT_ONCE)
  const { items } = await reconcileRail(shop, x402UnderTest, AT_ONCE)
  assert.deepEqual(
    items.map(({ kind, detail }) => [kind, detail]),
    [],
  )
})

test('E56: an order that cannot be delivered is sent back, once', async () => {
  const buyer = await fundedWallet(shop)
  const till = await x402UnderTest.till(shop)
  const { orderId } = await buyPreempted(buyer, 399, async (hash) => {
    await reconcileRail(shop, x402UnderTest)
    await drop(shop.chains.native, hash)
    await reconcileRail(shop, x402UnderTest)
  })
  assert.equal(await x402UnderTest.till(shop), till + 500_000n)
  const seen: string[] = []
  for (let look = 0; look < 4; look++) {
    await reconcileRail(shop, x402UnderTest, AT_ONCE)
    seen.push((await step(shop, orderId)).status)
  }
  const back = await transfers(shop, x402UnderTest, demoAddressOf('treasury'), buyer.address)
  assert.deepEqual({ status: seen.at(-1), back }, { status: 'refunded', back: [500_000n] })
})

test('E56: an order whose mint is dropped as well is delivered: it is paid', async () => {
  const buyer = await fundedWallet(shop)
  const till = await x402UnderTest.till(shop)
  const { hash, orderId } = await buyPreempted(buyer, 392, async () => {})
  await reconcileRail(shop, x402UnderTest)
  await drop(shop.chains.native, hash, await hashOf(shop, orderId, 'mint'))
  assert.equal(await x402UnderTest.till(shop), till + 250_000n)
  const named: string[] = []
  for (let look = 0; look < 4; look++)
    named.push(
      ...(await reconcileRail(shop, x402UnderTest, AT_ONCE)).items.map(({ kind, detail }) => `${kind}: ${detail}`),
    )
  assert.equal(await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address), 1, named.slice(-4).join(' | '))
})

test('E56: an order that nobody had looked at before is paid by a stranger, and nobody is told of a loss', async () => {
  const { hash, payment, orderId } = await buyPreempted(await fundedWallet(shop), 392, async () => {})
  await drop(shop.chains.native, hash)
  await drop(shop.chains.native, await hashOf(shop, orderId, 'settle'))
  const third = (await preempt(shop, payment)) as Hash
  assert.deepEqual([await named(), await named()], [[], []])
  assert.equal(await paidBy(orderId), third)
  const { rows } = await shop.store.db.query('select from missing_settlements where order_id = $1 and detail ~ $2', [
    orderId,
    'never land again',
  ])
  assert.deepEqual(rows, [])
})

test('E56: it is paid by whichever landed last, however often the chain changes its mind, and found by each of them', async () => {
  const { hash, payment, orderId } = await buyPreempted(await fundedWallet(shop), 392, async () => {})
  await named()
  await drop(shop.chains.native, hash)
  assert.deepEqual(await named(), [])
  const own = await hashOf(shop, orderId, 'settle')
  assert.equal(await paidBy(orderId), own)
  await drop(shop.chains.native, own)
  const third = (await preempt(shop, payment)) as Hash
  assert.deepEqual(await named(), [])
  assert.equal(await paidBy(orderId), third)
  const { orders } = shop.service.checkout
  const found = await Promise.all([hash, own, third].map((transaction) => orders.byReference(transaction)))
  assert.deepEqual(
    found.map((all) => all.map(({ order }) => order.id)),
    [[orderId], [orderId], [orderId]],
  )
})

test('E56: a transfer of the same payer and amount that carries another payment does not pay it, and goes back', async () => {
  const buyer = await fundedWallet(shop)
  const { hash, orderId } = await buyPreempted(buyer, 392, async () => {})
  await named()
  const own = await hashOf(shop, orderId, 'settle')
  await drop(shop.chains.native, hash, own)
  await payBeside(buyer)
  // What its key had sent before was dropped too, and goes first; a busy machine needs more looks than two.
  await until(async () => (await named()).length === 1)
  const kinds = (await reconcileRail(shop, x402UnderTest)).items.map(({ kind }) => kind)
  assert.deepEqual([kinds, await paidBy(orderId)], [['unclaimed'], own])
  for (let look = 0; look < 3; look++) await reconcileRail(shop, x402UnderTest, AT_ONCE)
  assert.deepEqual(await transfers(shop, x402UnderTest, demoAddressOf('treasury'), buyer.address), [250_000n])
})

test('E56: what pays it is found behind any number of others of its payer, when it is looked into', async () => {
  const buyer = await fundedWallet(shop)
  const { hash, orderId } = await buyPreempted(buyer, 392, async () => {})
  await named()
  await drop(shop.chains.native, hash)
  for (let times = 0; times < 10; times++) await payBeside(buyer)
  assert.ok((await named()).includes('missing: The chain dropped the payment.'))
  // The others stay until a person decides, so it has to be found beside them.
  const { items } = await reconcileRail(shop, x402UnderTest, { ...AT_ONCE, refundsOrphans: false })
  const kinds = items.map(({ kind }) => kind)
  assert.deepEqual([kinds, await paidBy(orderId)], [Array(10).fill('held'), await hashOf(shop, orderId, 'settle')])
})
