import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '../../../src/base/json.ts'
import { said } from '../../checkout/counter.ts'
import { mppCredential, paymentMeta } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { buyUrl, LOT, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { type Echo, spoilt, withoutPart } from '../support/spoilt-credential.ts'

// E130: a client has lost a part of what it echoes of its challenge. What names its payment is all there, and its money may have moved.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

const HELD = { isAsked: false, isFree: false }

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest] as readonly RailUnderTest[])
  test(`E130: a payment by ${rail.name} that has moved, and of which a part is lost, is asked for again at no route`, async () => {
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    const whole = () => fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
    if (rail !== mppPushUnderTest) assert.equal((await whole()).status, 200)
    for (const at of [x402UnderTest, mppPullUnderTest] as readonly RailUnderTest[]) {
      const answer = await fetch(buyUrl(shop, at), post(request, { [rail.header]: spoilt(rail, credential) }))
      const isAsked = answer.headers.has(at.challengeHeader)
      assert.deepEqual({ isAsked, isFree: (await said(answer)).payment.taken === false }, HELD, `at ${at.rail}`)
    }
    assert.equal((await whole()).status, 200)
  })

test('E130: nor over MCP, be it spent or pushed', async () => {
  const mcp = `${shop.url}/mcp`
  for (const how of ['x402', 'mpp', 'push'] as const) {
    const buyer = await fundedWallet(shop)
    const lot = { ...LOT, beneficiary: buyer.address }
    const buy = (meta: JsonObject) => callTool(mcp, 'buy_sale_lot', lot, { meta })
    const unpaid = await callTool(mcp, 'buy_sale_lot', lot)
    const required = unpaid._meta['org.paymentauth/payment-required']
    const meta =
      how === 'push'
        ? { 'org.paymentauth/credential': await mppCredential(shop, buyer, required, 'push') }
        : await paymentMeta(shop, how, buyer, unpaid)
    if (how !== 'push') assert.ok(!(await buy(meta)).isError)
    const [[key, payment] = ['', null]] = Object.entries(meta)
    const { content, _meta: answered } = await buy({ [key]: withoutPart(payment as Echo) } as JsonObject)
    const isAsked = Object.keys(answered ?? {}).some((name) => /x402|payment-required/.test(name))
    assert.deepEqual({ isAsked, isFree: /nothing was taken/i.test(JSON.stringify(content)) }, HELD, how)
  }
})

test('E130: a pull that has bought, and has nothing left of its challenge, is 409', async () => {
  const rail = mppPullUnderTest
  const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
  assert.equal((await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))).status, 200)
  const signed = spoilt(rail, credential, ({ challenge: _, ...rest }) => rest)
  const answer = await fetch(buyUrl(shop, rail), post(request, { [rail.header]: signed }))
  assert.deepEqual([answer.status, (await said(answer)).payment.taken], [409, 'unknown'])
})
