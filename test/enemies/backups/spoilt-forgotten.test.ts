import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/base/json.ts'
import { movableClock, said } from '../../checkout/counter.ts'
import { callTool } from '../../mcp/rpc.ts'
import { LOT, LOT_PRICE } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { type Echo, spoilt, withoutPart } from '../support/spoilt-credential.ts'
import { forgetPurchase } from './forgotten-purchase.ts'

// E147, and a part of the payment is lost: that it was asked for before the restore it does not say any more.

async function showSpoilt(t: TestContext, rail: RailUnderTest, at: string, laterMs = 0) {
  const { shop, buyer, credential, open, bringAgain } = await forgetPurchase(t, rail)
  const clock = movableClock()
  const { url } = await open(undefined, clock)
  clock.move(laterMs)
  const till = await rail.till(shop)
  const paid = post({ ...LOT, beneficiary: buyer.address }, { [rail.header]: spoilt(rail, credential) })
  const answer = await fetch(`${url}/agentic/${at}/buy`, paid)
  await bringAgain()
  return { moved: (await rail.till(shop)) - till, status: answer.status, taken: (await said(answer)).payment.taken }
}

for (const rail of [x402UnderTest, mppPullUnderTest])
  for (const at of ['x402', 'mpp'])
    test(`E151: of an authorization by ${rail.name} that was sent before a restore, and of which a part is lost, nobody says at a route of ${at} that it was not taken`, async (t) => {
      assert.deepEqual(await showSpoilt(t, rail, at), { moved: LOT_PRICE, status: 409, taken: 'unknown' })
    })

test('E151: nor over MCP', async (t) => {
  const { buyer, credential, open } = await forgetPurchase(t, x402UnderTest)
  const { url } = await open()
  const payment = withoutPart(JSON.parse(Buffer.from(credential, 'base64').toString()) as Echo) as JsonObject
  const lot = { ...LOT, beneficiary: buyer.address }
  const result = await callTool(`${url}/mcp`, 'buy_sale_lot', lot, { meta: { 'x402/payment': payment } })
  assert.deepEqual(Object.keys(result._meta), ['sutler/problem'], 'nobody is asked to pay')
})

test('E151: long after the restore whoever sends what cannot be read hears what is wrong with it', async (t) => {
  const { status, taken } = await showSpoilt(t, x402UnderTest, 'x402', 7_200_000)
  assert.deepEqual({ status, taken }, { status: 400, taken: false })
})
