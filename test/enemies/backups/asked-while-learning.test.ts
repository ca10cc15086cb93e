import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { said } from '../../checkout/counter.ts'
import { callTool } from '../../mcp/rpc.ts'
import { LOT } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { isOpen } from '../support/moving-store.ts'
import { startHearing } from './unreachable-chain.ts'

// A healthy shop that was off for the night (nothing was ever put back) starts, and one of its nodes needs a second to answer. It sells nothing in that
// second, so it must not ask to be paid either: what was asked for before the tills were read is not sold afterwards.

const BENEFICIARY = '0x00000000000000000000000000000000000b0b00'

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
  for (const chain of ['native', 'tempo'] as const)
    test(`E161: nobody is asked to pay by ${rail.name} while a shop that was off for the night learns, with ${chain} silent; then it sells`, async (t) => {
      const shop = await startShop({ withoutWorker: true })
      t.after(() => shop.stop())
      await shop.store.db.query(`update tills set alive_at = now() - interval '8 hours'`)
      const { service, hear } = await startHearing(
        { shop, backup: await shop.store.replica() },
        { chain, isDeaf: true },
      )
      const buyer = await fundedWallet(shop)
      const request = { ...LOT, beneficiary: buyer.address }
      const url = `${service.url}/agentic/${rail.rail}/buy`
      const asked = await fetch(url, post(request))
      const { payment } = await said(asked.clone())
      assert.deepEqual([asked.status, payment.taken], [503, false])
      hear()
      await until(async () => isOpen(service))
      const credential = await rail.pay(shop, buyer, await fetch(url, post(request)))
      const answer = await fetch(url, post(request, { [rail.header]: credential }))
      assert.equal(answer.status, 200)
    })

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
  test(`E161: a shop that was off for the night, with nodes that answer, sells at once by ${rail.name}`, async (t) => {
    const shop = await startShop({ withoutWorker: true })
    t.after(() => shop.stop())
    await shop.store.db.query(`update tills set alive_at = now() - interval '8 hours'`)
    const service = await shop.replica()
    const buyer = await fundedWallet(shop)
    const request = { ...LOT, beneficiary: buyer.address }
    const url = `${service.url}/agentic/${rail.rail}/buy`
    const credential = await rail.pay(shop, buyer, await fetch(url, post(request)))
    assert.equal((await fetch(url, post(request, { [rail.header]: credential }))).status, 200)
  })

/** What clients send that the rail cannot read: cut, of another shop's protocol, or of an earlier version. */
const UNREAD = [
  ['an MPP credential that is no JSON', 'mpp', { authorization: 'Payment abc' }],
  ['a payment by x402 where MPP is taken', 'mpp', { 'payment-signature': 'abc' }],
  ['a payment by MPP where x402 is taken', 'x402', { authorization: 'Payment abc' }],
  ['a payment by the first version of x402', 'x402', { 'x-payment': 'abc' }],
] as const

for (const [what, path, headers] of UNREAD)
  test(`E166: nor is whoever shows ${what}: it cannot be read, and is no reason to ask for another one before the shop sells`, async (t) => {
    const shop = await startShop({ withoutWorker: true })
    t.after(() => shop.stop())
    await shop.store.db.query(`update tills set alive_at = now() - interval '8 hours'`)
    const { service, hear } = await startHearing(
      { shop, backup: await shop.store.replica() },
      { chain: 'tempo', isDeaf: true },
    )
    const show = () => fetch(`${service.url}/agentic/${path}/buy`, post({ ...LOT, beneficiary: BENEFICIARY }, headers))
    const answer = await show()
    const { payment } = await said(answer.clone())
    assert.deepEqual([answer.status, payment.taken], [503, 'unknown'])
    hear()
    await until(async () => isOpen(service))
    assert.equal((await show()).status, 402)
  })

async function startLearning(t: TestContext) {
  const shop = await startShop({ withoutWorker: true })
  t.after(() => shop.stop())
  await shop.store.db.query(`update tills set alive_at = now() - interval '8 hours'`)
  const restored = { shop, backup: await shop.store.replica() }
  return startHearing(restored, { chain: 'tempo', isDeaf: true })
}

test('E174: a payment by x402 that cannot be read is not said to be free before the shop sells', async (t) => {
  const { service } = await startLearning(t)
  const request = post({ ...LOT, beneficiary: BENEFICIARY }, { 'payment-signature': 'abc' })
  const answer = await fetch(`${service.url}/agentic/x402/buy`, request)
  const { payment } = await said(answer.clone())
  assert.deepEqual([answer.status, payment.taken], [400, 'unknown'])
})

test('E174: nor is it when it comes over MCP', async (t) => {
  const { service } = await startLearning(t)
  const meta = { 'x402/payment': { x402Version: 2 } }
  const { _meta: told } = await callTool(
    `${service.url}/mcp`,
    'buy_sale_lot',
    { ...LOT, beneficiary: BENEFICIARY },
    { meta },
  )
  const { status, payment } = told['sutler/problem'] as { status: number; payment: { taken: unknown } }
  assert.deepEqual([status, payment.taken], [503, 'unknown'])
})
