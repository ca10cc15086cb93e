import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '../../../src/base/json.ts'
import { preempt, type X402Payment } from '../../checkout/x402-wallet.ts'
import { mppCredential } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { buyUrl, LOT, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// A signed payment that is shown at a route of another protocol is answered with a challenge of that one: stock clients pay it by themselves. But it may have
// been taken before, or carried to the chain by somebody else.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

const MOVED = { status: 409, code: 'payment_misplaced', taken: 'unknown', isAsked: false }

async function shownAt(other: RailUnderTest, request: object, headers: Record<string, string>, url = shop.url) {
  const answer = await fetch(buyUrl({ ...shop, url }, other), post(request, headers))
  const { code, payment } = (await answer.json()) as { code: string; payment: { taken: unknown } }
  const isAsked = answer.headers.has('payment-required') || answer.headers.has('www-authenticate')
  return { status: answer.status, code, taken: payment.taken, isAsked }
}

for (const [rail, other] of [
  [x402UnderTest, mppPullUnderTest],
  [mppPullUnderTest, x402UnderTest],
] as const)
  test(`E124: whoever repeats a payment by ${rail.name} that has bought, at a route of ${other.rail}, is not asked to pay again`, async () => {
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    const sent = { [rail.header]: credential }
    assert.equal((await fetch(buyUrl(shop, rail), post(request, sent))).status, 200)
    assert.deepEqual(await shownAt(other, request, sent), MOVED)
  })

test('E124: nor whoever shows there what somebody else has carried to the chain', async () => {
  const rail: RailUnderTest = x402UnderTest
  const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
  const till = await rail.till(shop)
  await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment)
  assert.equal((await rail.till(shop)) - till, LOT_PRICE)
  assert.deepEqual(await shownAt(mppPullUnderTest, request, { [rail.header]: credential }), MOVED)
})

async function paidForTool(mode: 'pull' | 'push') {
  const buyer = await fundedWallet(shop)
  const lot = { ...LOT, beneficiary: buyer.address }
  const asked = await callTool(`${shop.url}/mcp`, 'buy_sale_lot', lot)
  const credential = await mppCredential(shop, buyer, asked._meta['org.paymentauth/payment-required'], mode)
  return { lot, credential, meta: { 'org.paymentauth/credential': credential } }
}

/** A tool that takes x402 only. */
async function shownToProbe(url: string, meta: JsonObject) {
  const { content, _meta: answered } = await callTool(`${url}/mcp`, 'check_payment_gateway', {}, { meta })
  const challenges = Object.keys(answered ?? {}).filter((key) => /x402|payment-required/.test(key))
  return { challenges, isFree: /nothing was taken/i.test(JSON.stringify(content)) }
}

const NOT_ASKED = { challenges: [], isFree: false }

test('E124: nor whoever repeats over MCP what has bought, with a tool that takes another protocol', async () => {
  const { lot, meta } = await paidForTool('pull')
  const till = await mppPullUnderTest.till(shop)
  await callTool(`${shop.url}/mcp`, 'buy_sale_lot', lot, { meta })
  assert.equal((await mppPullUnderTest.till(shop)) - till, LOT_PRICE)
  assert.deepEqual(await shownToProbe(shop.url, meta), NOT_ASKED)
})

for (const rail of [x402UnderTest, mppPushUnderTest])
  test(`E124: nor whoever shows a payment by ${rail.name} that has moved, at a route of the only protocol that is taken since`, async () => {
    const other: RailUnderTest = rail.rail === 'x402' ? mppPullUnderTest : x402UnderTest
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    if (rail.rail === 'x402')
      await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment)
    const { url } = await shop.replica({
      configure: ({ x402, mpp, ...config }) =>
        rail.rail === 'x402'
          ? { ...config, mpp, x402: null, retired: [{ rail: 'x402', config: x402! }] }
          : { ...config, x402, mpp: null, retired: [{ rail: 'mpp', config: mpp! }] },
    })
    assert.deepEqual(await shownAt(other, request, { [rail.header]: credential }, url), MOVED)
  })

test('E124: nor whoever shows money to a tool that was never sold by its protocol, which is taken no more', async () => {
  const { meta } = await paidForTool('push')
  const { url } = await shop.replica({
    configure: ({ mpp, ...config }) => ({ ...config, mpp: null, retired: [{ rail: 'mpp', config: mpp! }] }),
  })
  assert.deepEqual(await shownToProbe(url, meta), NOT_ASKED)
})
