import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { mppCredential } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { buyUrl, LOT, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// A request that pays is refused for what it is written in, before anybody looks at the payment (E104). Its payer may have pushed the money, or repeat a payment
// that has bought something: whoever hears that nothing was taken may sign again.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

type Slip = readonly [what: string, of: (init: RequestInit, url: string) => readonly [string, RequestInit]]

const withHeaders = (init: RequestInit, more: Record<string, string>): RequestInit => ({
  ...init,
  headers: { ...(init.headers as Record<string, string>), ...more },
})

const OTHERS = { authorization: 'Payment e30', 'payment-signature': 'e30=' }

const SLIPS: readonly Slip[] = [
  ['asks for the price', (init, url) => [url, { headers: init.headers! }]],
  ['uses a method that nothing is sold by', (init, url) => [url, { ...init, method: 'PUT' }]],
  ['has a key that is none', (init, url) => [url, withHeaders(init, { 'idempotency-key': 'short' })]],
  [
    'does not say what its body is written in',
    (init, url) => [url, withHeaders(init, { 'content-type': 'text/plain' })],
  ],
  ['has a body that is too large', (init, url) => [url, { ...init, body: `"${'x'.repeat(1 << 16)}"` }]],
  ['takes no JSON', (init, url) => [url, withHeaders(init, { accept: 'text/csv' })]],
  [
    'carries another payment too',
    (init, url) => [url, { ...init, headers: { ...OTHERS, ...(init.headers as object) } }],
  ],
]

const FREE = /nothing was (taken|charged)|not taken/i

async function shown([url, init]: readonly [string, RequestInit]) {
  const answer = await fetch(url, init)
  const { detail, payment } = (await answer.json()) as { detail: string; payment: { taken: unknown } }
  return { isRefused: answer.status >= 400 && answer.status !== 402, taken: payment.taken, isFree: FREE.test(detail) }
}

const UNSEEN = { isRefused: true, taken: 'unknown', isFree: false }

for (const [what, slip] of SLIPS) {
  test(`E104: whoever has pushed money does not hear that it was not taken, because the request ${what}`, async () => {
    const rail: RailUnderTest = mppPushUnderTest
    const till = await rail.till(shop)
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    assert.equal((await rail.till(shop)) - till, LOT_PRICE)
    assert.deepEqual(await shown(slip(post(request, { [rail.header]: credential }), buyUrl(shop, rail))), UNSEEN)
  })
}

test('E104: nor does whoever repeats a payment that has bought something', async () => {
  const rail: RailUnderTest = x402UnderTest
  const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
  const paid = post(request, { [rail.header]: credential })
  assert.equal((await fetch(buyUrl(shop, rail), paid)).status, 200)
  for (const [what, slip] of SLIPS) assert.deepEqual(await shown(slip(paid, buyUrl(shop, rail))), UNSEEN, what)
})

async function pushedFor(buyer: PrivateKeyAccount) {
  const mcp = `${shop.url}/mcp`
  const lot = { ...LOT, beneficiary: buyer.address }
  const required = (await callTool(mcp, 'buy_sale_lot', lot))._meta['org.paymentauth/payment-required']
  return { mcp, lot, meta: { 'org.paymentauth/credential': await mppCredential(shop, buyer, required, 'push') } }
}

test('E104: the same over MCP', async () => {
  const { mcp, lot, meta } = await pushedFor(await fundedWallet(shop))
  const answer = JSON.stringify(await callTool(mcp, 'buy_sale_lot', { ...lot, idempotencyKey: 'short' }, { meta }))
  assert.doesNotMatch(answer, FREE)
  assert.doesNotMatch(answer, /"taken":false/)
})
