import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Problem } from '../../../src/base/problem.ts'
import { preempt, type X402Payment } from '../../checkout/x402-wallet.ts'
import { buyUrl, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPushUnderTest, type RailUnderTest, withoutClaim, x402UnderTest } from '../../support/credentials.ts'
import { leapingClock } from '../../support/leaping-clock.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { claimOf } from './money-claim.ts'

// Others at the same address sent bad payments, so a payment that has no order is turned away there, unseen (E104). That it has no order does not say that no
// money has moved; and while the store is away nobody knows whether it has one.

async function startDistrusting(t: TestContext): Promise<TestShop> {
  const shop = await startShop({
    clock: leapingClock(),
    configure: ({ limits, ...config }) => ({ ...config, limits: { ...limits, rate: { ...limits.rate, failed: 1 } } }),
  })
  t.after(() => shop.stop())
  return shop
}

async function sendBad(shop: TestShop): Promise<void> {
  const bad = post({}, { [x402UnderTest.header]: 'e30=' })
  assert.equal((await fetch(buyUrl(shop, x402UnderTest), bad)).status, 400)
}

test('E104: whoever shows a payment that somebody else has carried to the chain does not hear that it was not taken, because others at their address sent bad ones', async (t) => {
  const shop = await startDistrusting(t)
  const rail: RailUnderTest = x402UnderTest
  const paid = await payFor(shop, rail, await fundedWallet(shop))
  const { request } = paid
  const credential = withoutClaim(paid.credential)
  await sendBad(shop)
  const till = await rail.till(shop)
  await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment)
  assert.equal((await rail.till(shop)) - till, LOT_PRICE)
  const answer = await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
  assert.deepEqual(await claimOf(answer), { status: 429, code: 'rate_limited', taken: 'unknown', isFree: false })
})

for (const [rail, heard] of [
  [x402UnderTest, { status: 503, code: 'store_unavailable', taken: 'unknown', isFree: false }],
  [mppPushUnderTest, { status: 202, code: 'payment_pending', taken: 'unknown', isFree: false }],
] as const)
  test(`E104: whoever repeats a payment by ${rail.name} that was taken does not hear that it was not, because the store is away and others at their address sent bad ones`, async (t) => {
    const shop = await startDistrusting(t)
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    const buy = () => fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
    assert.equal((await buy()).status, 200)
    await sendBad(shop)
    t.mock.method(shop.service.checkout.orders, 'byIdentities', () =>
      Promise.reject(new Problem('store_unavailable', 'The store is away; nothing was taken.')),
    )
    assert.deepEqual(await claimOf(await buy()), heard)
  })
