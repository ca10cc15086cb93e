import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '../../../src/base/json.ts'
import { said } from '../../checkout/counter.ts'
import { paymentMeta } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { buyUrl, LOT, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { type Echo, spoilt, withoutPart } from '../support/spoilt-credential.ts'

// A payment that has bought is repeated by somebody who has lost a part of what it echoes. What names it is all there.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

const rails: readonly RailUnderTest[] = [x402UnderTest, mppPullUnderTest]
for (const rail of rails)
  for (const at of rails)
    test(`E130: whoever repeats a payment by ${rail.name} that has bought, and of which a part is lost, does not hear at a route of ${at.rail} that nothing was taken`, async () => {
      const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
      assert.equal((await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))).status, 200)
      const answer = await fetch(buyUrl(shop, at), post(request, { [rail.header]: spoilt(rail, credential) }))
      const isAsked = answer.headers.has(at.challengeHeader)
      assert.deepEqual(
        { isAsked, isFree: (await said(answer)).payment.taken === false },
        { isAsked: false, isFree: false },
      )
    })

for (const rail of ['x402', 'mpp'] as const)
  test(`E130: nor who repeats over MCP what has bought by ${rail}`, async () => {
    const buyer = await fundedWallet(shop)
    const lot = { ...LOT, beneficiary: buyer.address }
    const buy = (meta: JsonObject) => callTool(`${shop.url}/mcp`, 'buy_sale_lot', lot, { meta })
    const meta = await paymentMeta(shop, rail, buyer, await callTool(`${shop.url}/mcp`, 'buy_sale_lot', lot))
    assert.ok(!(await buy(meta)).isError)
    const [[key, payment] = ['', null]] = Object.entries(meta)
    const { content, _meta: answered } = await buy({ [key]: withoutPart(payment as Echo) } as JsonObject)
    const challenges = Object.keys(answered ?? {}).filter((name) => /x402|payment-required/.test(name))
    const isFree = /nothing was taken/i.test(JSON.stringify(content))
    assert.deepEqual({ challenges, isFree }, { challenges: [], isFree: false })
  })

const pull = mppPullUnderTest

test('E130: nor who repeats a pull that has bought, and has nothing left of its challenge', async () => {
  const { request, credential } = await payFor(shop, pull, await fundedWallet(shop))
  assert.equal((await fetch(buyUrl(shop, pull), post(request, { [pull.header]: credential }))).status, 200)
  const signed = spoilt(pull, credential, ({ challenge: _, ...rest }) => rest)
  const answer = await fetch(buyUrl(shop, pull), post(request, { [pull.header]: signed }))
  assert.deepEqual([answer.status, (await said(answer)).payment.taken], [409, 'unknown'])
})
