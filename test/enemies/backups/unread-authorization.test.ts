import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/base/json.ts'
import { said } from '../../checkout/counter.ts'
import { callTool } from '../../mcp/rpc.ts'
import { LOT, LOT_PRICE } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { forgetPurchase } from './forgotten-purchase.ts'
import { startDeaf } from './unreachable-chain.ts'

// E147, before anybody knows of the restore: a chain does not answer, so what the store has forgotten is not known yet, and nothing is sold.

type Forgotten = Awaited<ReturnType<typeof forgetPurchase>> & { readonly url: string }

/** What the payer of an authorization hears that a forgotten purchase has sent, and what the chain takes by it afterwards. */
async function heard(t: TestContext, rail: RailUnderTest, show: (forgotten: Forgotten) => Promise<Response>) {
  const forgotten = await forgetPurchase(t, rail)
  const { shop, bringAgain } = forgotten
  const { service } = await startDeaf(forgotten, rail)
  const till = await rail.till(shop)
  const answer = await show({ ...forgotten, url: service.url })
  await bringAgain()
  const isAsked = answer.status === 402
  return { taken: (await rail.till(shop)) - till, isAsked, said: (await said(answer)).payment.taken }
}

const MAY_BE_TAKEN = { taken: LOT_PRICE, isAsked: false, said: 'unknown' }

const PLACES: Readonly<Record<string, (rail: RailUnderTest, forgotten: Forgotten) => Promise<Response>>> = {
  'where it had bought': (rail, { showAgain, url }) => showAgain({ url }, rail.rail),
  'at the wrong address': (rail, { showAgain, url }) => showAgain({ url }, rail.rail === 'x402' ? 'mpp' : 'x402'),
  'for something else': (rail, { url, buyer, credential }) =>
    fetch(
      `${url}/agentic/${rail.rail}/buy`,
      post({ ...LOT, quantity: 2, beneficiary: buyer.address }, { [rail.header]: credential }),
    ),
}

for (const rail of [x402UnderTest, mppPullUnderTest])
  for (const [where, show] of Object.entries(PLACES))
    test(`E150: an authorization by ${rail.name} that is shown ${where} before the books are read is not called free`, async (t) => {
      assert.deepEqual(await heard(t, rail, (forgotten) => show(rail, forgotten)), MAY_BE_TAKEN)
    })

test('E150: nor is one that is shown over MCP', async (t) => {
  const forgotten = await forgetPurchase(t, x402UnderTest)
  const { service } = await startDeaf(forgotten, x402UnderTest)
  const payment = JSON.parse(Buffer.from(forgotten.credential, 'base64').toString()) as JsonObject
  const lot = { ...LOT, beneficiary: forgotten.buyer.address }
  const result = await callTool(`${service.url}/mcp`, 'buy_sale_lot', lot, { meta: { 'x402/payment': payment } })
  assert.deepEqual(Object.keys(result._meta ?? {}), ['sutler/problem'], 'nobody is asked to pay')
  assert.match(JSON.stringify(result.content), /may have moved/)
})
