import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Limits } from '../../../src/config/limits.ts'
import { mppCredential } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { buyUrl, LOT, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { leapingClock } from '../../support/leaping-clock.ts'
import { startShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { claimOf } from './money-claim.ts'

// Whoever is turned away because there is no room, or because others behind the same address sent bad payments, was not looked at. Their money may have moved
// all the same: by their own hand, or by the same payment a moment ago. Who hears that it was not taken signs again when the first signature has run out.

async function startFull(t: TestContext, places: Partial<Limits> = { purchasesMax: 1 }) {
  let hold: Promise<void> | null = null
  let letGo = (): void => {}
  let held = 0
  const shop = await startShop({
    configure: (config) => ({ ...config, limits: { ...config.limits, ...places, waitMsMax: 60_000 } }),
    waypoint: async (name) => {
      if (name !== 'settle.begun' || !hold) return
      held++
      await hold
    },
  })
  let other: Promise<Response> | null = null
  t.after(async () => {
    letGo()
    await other
    await shop.stop()
  })
  return {
    shop,
    /** Somebody else’s purchase takes the only place. */
    async fill() {
      hold = new Promise((resolve) => {
        letGo = resolve
      })
      const { request, credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
      other = fetch(buyUrl(shop, x402UnderTest), post(request, { [x402UnderTest.header]: credential }))
      await until(() => held === 1)
    },
  }
}

const UNSEEN = { status: 503, code: 'overloaded', taken: 'unknown', isFree: false }

test('E104: whoever repeats a payment that was taken does not hear that it was not, because there is no room', async (t) => {
  const { shop, fill } = await startFull(t)
  const rail: RailUnderTest = x402UnderTest
  const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
  const buy = () => fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
  const till = await rail.till(shop)
  const first = await buy()
  assert.deepEqual([first.status, (await rail.till(shop)) - till], [200, LOT_PRICE])
  await fill()
  assert.deepEqual(await claimOf(await buy()), UNSEEN)
})

for (const [places, room] of [
  [{ purchasesMax: 1 }, 'no room'],
  [{ requestsMax: 1 }, 'no room for any request'],
] as const)
  test(`E104: whoever has pushed money does not hear that it was not taken, because there is ${room}`, async (t) => {
    const { shop, fill } = await startFull(t, places)
    const rail: RailUnderTest = mppPushUnderTest
    const till = await rail.till(shop)
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    assert.equal((await rail.till(shop)) - till, LOT_PRICE)
    await fill()
    assert.deepEqual(
      await claimOf(await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))),
      UNSEEN,
    )
  })

test('E104: whoever repeats by GET what was taken does not hear that it was not, because there is no room for any request', async (t) => {
  const { shop, fill } = await startFull(t, { requestsMax: 1 })
  const rail: RailUnderTest = x402UnderTest
  const url = `${shop.url}/x402/cheap-health`
  const credential = await rail.pay(shop, await fundedWallet(shop), await fetch(url))
  const probe = () => fetch(url, { headers: { [rail.header]: credential } })
  assert.equal((await probe()).status, 200)
  await fill()
  assert.deepEqual(await claimOf(await probe()), UNSEEN)
})

test('E104: the same over MCP', async (t) => {
  const { shop, fill } = await startFull(t)
  const mcp = `${shop.url}/mcp`
  const buyer = await fundedWallet(shop)
  const lot = { ...LOT, beneficiary: buyer.address }
  const required = (await callTool(mcp, 'buy_sale_lot', lot))._meta['org.paymentauth/payment-required']
  const meta = { 'org.paymentauth/credential': await mppCredential(shop, buyer, required, 'push') }
  await fill()
  const { content } = await callTool(mcp, 'buy_sale_lot', lot, { meta })
  assert.match(JSON.stringify(content), /overloaded/)
  assert.doesNotMatch(JSON.stringify(content), /nothing was taken|not taken|sign again/i)
})

test('E104: a payer who has pushed money is served, whatever bad payments others at the address have sent', async (t) => {
  const failed = 1
  const shop = await startShop({
    clock: leapingClock(),
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, rate: { ...config.limits.rate, failed } },
    }),
  })
  t.after(() => shop.stop())
  const bad = await payFor(shop, x402UnderTest, await fundedWallet(shop, 0n))
  const url = buyUrl(shop, x402UnderTest)
  assert.equal((await fetch(url, post(bad.request, { [x402UnderTest.header]: bad.credential }))).status, 402)
  const { request, credential } = await payFor(shop, mppPushUnderTest, await fundedWallet(shop))
  const answer = await fetch(buyUrl(shop, mppPushUnderTest), post(request, { [mppPushUnderTest.header]: credential }))
  assert.equal(answer.status, 200, await answer.text())
})
