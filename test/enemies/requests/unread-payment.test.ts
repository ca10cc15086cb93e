import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { Problem } from '../../../src/base/problem.ts'
import type { Config } from '../../../src/config/config.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { createMeddler, Refused } from '../../checkout/meddler.ts'
import { preempt, type X402Payment } from '../../checkout/x402-wallet.ts'
import { mppCredential, paymentMeta } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { buyUrl, LOT, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPushUnderTest, type RailUnderTest, withoutClaim, x402UnderTest } from '../../support/credentials.ts'
import { leapingClock } from '../../support/leaping-clock.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { claimOf } from './money-claim.ts'

// E104: a request that pays is refused before its payment was looked at. The payer may have pushed the money, or repeats a payment that has bought: one who
// hears that nothing was taken may sign again.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

const FREE = /nothing was (taken|charged)|not taken|"taken":false/i

type Slip = (init: RequestInit, url: string) => readonly [string, RequestInit]
const withHeaders = (init: RequestInit, more: Record<string, string>): RequestInit => ({
  ...init,
  headers: { ...(init.headers as Record<string, string>), ...more },
})
const slips: Readonly<Record<string, Slip>> = {
  'asks for the price': (init, url) => [url, { headers: init.headers! }],
  'uses a method that nothing is sold by': (init, url) => [url, { ...init, method: 'PUT' }],
  'has a malformed key': (init, url) => [url, withHeaders(init, { 'idempotency-key': 'short' })],
  'has a body of another type': (init, url) => [url, withHeaders(init, { 'content-type': 'text/plain' })],
  'has a body that is too large': (init, url) => [url, { ...init, body: `"${'x'.repeat(1 << 16)}"` }],
  'takes no JSON': (init, url) => [url, withHeaders(init, { accept: 'text/csv' })],
  'carries another payment too': (init, url) => [
    url,
    { ...init, headers: { authorization: 'Payment e30', 'payment-signature': 'e30=', ...(init.headers as object) } },
  ],
}

for (const [rail, how] of [
  [mppPushUnderTest, 'pushed'],
  [x402UnderTest, 'spent'],
] as const)
  test(`E104: money that was ${how} is not called free because the request is refused for its form`, async () => {
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    const paid = post(request, { [rail.header]: credential })
    if (how === 'spent') assert.equal((await fetch(buyUrl(shop, rail), paid)).status, 200)
    for (const [what, slip] of Object.entries(slips)) {
      const { status, taken, isFree } = await claimOf(await fetch(...slip(paid, buyUrl(shop, rail))))
      const isRefused = status >= 400 && status !== 402
      assert.deepEqual({ isRefused, taken, isFree }, { isRefused: true, taken: 'unknown', isFree: false }, what)
    }
  })

test('E104: the same over MCP: with a malformed key, with other arguments, with a tool of another protocol', async () => {
  const mcp = `${shop.url}/mcp`
  const buyer = await fundedWallet(shop)
  const lot = { ...LOT, beneficiary: buyer.address }
  const required = (await callTool(mcp, 'buy_sale_lot', lot))._meta['org.paymentauth/payment-required']
  const meta = { 'org.paymentauth/credential': await mppCredential(shop, buyer, required, 'push') }
  for (const [tool, input] of [
    ['buy_sale_lot', { ...lot, idempotencyKey: 'short' }],
    ['buy_sale_lot', { ...LOT, beneficiary: demoAddressOf('treasury') }],
    ['check_payment_gateway', {}],
  ] as const) {
    const answer = JSON.stringify(await callTool(mcp, tool, input, { meta }))
    assert.doesNotMatch(answer, FREE)
    assert.doesNotMatch(answer, /x402\/error|payment-required/)
  }
})

test('E104: a payment over MCP that a stranger has carried to the chain is not called free because the shop fails', async (t) => {
  const meddler = createMeddler()
  // Nothing that it has read before helps it.
  const failing = await startShop({ wrapTransport: meddler.wrap })
  t.after(() => failing.stop())
  const mcp = `${failing.url}/mcp`
  const buyer = await fundedWallet(failing)
  const lot = { ...LOT, beneficiary: buyer.address }
  const meta = await paymentMeta(failing, 'x402', buyer, await callTool(mcp, 'buy_sale_lot', lot))
  await preempt(failing, meta['x402/payment'] as unknown as X402Payment)
  for (const method of ['eth_getBalance', 'eth_call'])
    meddler.meddle(method, () => {
      throw new Refused({ code: -32000, message: 'unheard of' })
    })
  assert.doesNotMatch(JSON.stringify(await callTool(mcp, 'buy_sale_lot', lot, { meta })), FREE)
})

for (const limits of [{ purchasesMax: 1 }, { requestsMax: 1 }])
  test(`E104: neither what was spent nor what was pushed is called free with ${JSON.stringify(limits)} and no room`, async (t) => {
    const full = await startFull(t, limits)
    const paid: (() => Promise<Response>)[] = []
    for (const rail of [x402UnderTest, mppPushUnderTest]) {
      const till = await rail.till(full.shop)
      const { request, credential } = await payFor(full.shop, rail, await fundedWallet(full.shop))
      const buy = () => fetch(buyUrl(full.shop, rail), post(request, { [rail.header]: credential }))
      if (rail === x402UnderTest) assert.equal((await buy()).status, 200)
      assert.equal((await rail.till(full.shop)) - till, LOT_PRICE)
      paid.push(buy)
    }
    await full.fill()
    for (const buy of paid)
      assert.deepEqual(await claimOf(await buy()), { status: 503, code: 'overloaded', taken: 'unknown', isFree: false })
  })

/** A shop in which another purchase takes the only place. */
async function startFull(t: TestContext, places: Partial<Config['limits']>) {
  const gate = Promise.withResolvers<void>()
  let isHolding = false
  let held = 0
  const full = await startShop({
    configure: (config) => ({ ...config, limits: { ...config.limits, ...places, waitMsMax: 60_000 } }),
    waypoint: async (name) => {
      if (name !== 'settle.begun' || !isHolding) return
      held++
      await gate.promise
    },
  })
  let other: Promise<Response> | null = null
  t.after(async () => {
    gate.resolve()
    await other
    await full.stop()
  })
  return {
    shop: full,
    async fill() {
      const { request, credential } = await payFor(full, x402UnderTest, await fundedWallet(full))
      isHolding = true
      other = fetch(buyUrl(full, x402UnderTest), post(request, { [x402UnderTest.header]: credential }))
      await until(() => held === 1)
    },
  }
}

test('E104: at an address that sent bad payments nothing is called free, by whoever carried it, and while the store is away', async (t) => {
  const own = await startShop({
    clock: leapingClock(),
    configure: ({ limits, ...config }) => ({ ...config, limits: { ...limits, rate: { ...limits.rate, failed: 1 } } }),
  })
  t.after(() => own.stop())
  const prepared = async (rail: RailUnderTest) => {
    const { request, credential } = await payFor(own, rail, await fundedWallet(own))
    return {
      credential,
      buy: (shown = credential) => fetch(buyUrl(own, rail), post(request, { [rail.header]: shown })),
    }
  }
  const [carried, spent, pushed] = [
    await prepared(x402UnderTest),
    await prepared(x402UnderTest),
    await prepared(mppPushUnderTest),
  ]
  for (const { buy } of [spent, pushed]) assert.equal((await buy()).status, 200)
  const bad = post({}, { [x402UnderTest.header]: 'e30=' })
  assert.equal((await fetch(buyUrl(own, x402UnderTest), bad)).status, 400)
  const stranger = withoutClaim(carried.credential)
  await preempt(own, JSON.parse(Buffer.from(stranger, 'base64').toString()) as X402Payment)
  const unseen = { taken: 'unknown', isFree: false }
  assert.deepEqual(await claimOf(await carried.buy(stranger)), { status: 429, code: 'rate_limited', ...unseen })
  t.mock.method(own.service.checkout.orders, 'byIdentities', () =>
    Promise.reject(new Problem('store_unavailable', 'The store is away; nothing was taken.')),
  )
  assert.deepEqual(await claimOf(await spent.buy()), { status: 503, code: 'store_unavailable', ...unseen })
  assert.deepEqual(await claimOf(await pushed.buy()), { status: 202, code: 'payment_pending', ...unseen })
})
