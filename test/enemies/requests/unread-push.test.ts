import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { said } from '../../checkout/counter.ts'
import { mppCredential } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { buyUrl, LOT, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { edited, type RailUnderTest, mppPushUnderTest as rail, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// A client that has sent the money and echoes its challenge badly, as one that leaves out what it does not know: the transaction is named all the same.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

function withoutOpaque({ challenge }: Record<string, unknown>): void {
  delete (challenge as { opaque?: unknown }).opaque
}

const routes: readonly RailUnderTest[] = [rail, x402UnderTest]

for (const at of routes)
  test(`E130: whoever has pushed, and cannot be read, is not asked to pay again at a route of ${at.rail}`, async () => {
    const till = await rail.till(shop)
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    assert.equal((await rail.till(shop)) - till, LOT_PRICE)
    const sent = { [rail.header]: edited(credential, withoutOpaque) }
    const answer = await fetch(buyUrl(shop, at), post(request, sent))
    const isAsked = answer.headers.has(at.challengeHeader)
    assert.deepEqual(
      { status: answer.status, isAsked, taken: (await said(answer)).payment.taken },
      { status: 409, isAsked: false, taken: 'unknown' },
    )
    assert.equal((await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))).status, 200)
  })

for (const tool of ['buy_sale_lot', 'check_payment_gateway'])
  test(`E130: nor over MCP, by ${tool}`, async () => {
    const mcp = `${shop.url}/mcp`
    const buyer = await fundedWallet(shop)
    const lot = { ...LOT, beneficiary: buyer.address }
    const required = (await callTool(mcp, 'buy_sale_lot', lot))._meta['org.paymentauth/payment-required']
    const credential = await mppCredential(shop, buyer, required, 'push')
    withoutOpaque(credential)
    const meta = { 'org.paymentauth/credential': credential }
    const { content, _meta: answered } = await callTool(mcp, tool, tool === 'buy_sale_lot' ? lot : {}, { meta })
    const challenges = Object.keys(answered ?? {}).filter((key) => /x402|payment-required/.test(key))
    const isFree = /nothing was taken/i.test(JSON.stringify(content))
    assert.deepEqual({ challenges, isFree }, { challenges: [], isFree: false })
  })
