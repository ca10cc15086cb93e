import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AT_ONCE, buy, reconcileRail } from '../../operations/desk.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { forgetPurchase } from './forgotten-purchase.ts'

// A payment buys, the chain takes it back, and the store is put back to before the purchase: when the books are read again nothing tells of it.

async function forget(t: TestContext, rail: RailUnderTest) {
  const { open, showAgain, backup, ...forgotten } = await forgetPurchase(t, rail)
  const service = await open()
  return {
    ...forgotten,
    service,
    async showAgain() {
      const sent = await showAgain(service)
      const { code, detail } = (await sent.json()) as { code?: string; detail?: string }
      return { status: sent.status, code, detail }
    },
    /** What became of it, by the books of the shop that was put back. */
    async states() {
      await reconcileRail({ service }, rail, AT_ONCE)
      const { rows } = await backup.query<{ state: string }>('select state from arrivals order by id')
      return rows.map(({ state }) => state)
    },
  }
}

test('E146: a push that the chain shows again after a restore neither buys once more nor goes back by itself', async (t) => {
  const { shop, buyer, bringAgain, showAgain, delivered, states } = await forget(t, mppPushUnderTest)
  await bringAgain()
  const before = await mppPushUnderTest.balance(shop, buyer.address)
  const { status, code, detail } = await showAgain()
  assert.deepEqual([status, code], [409, 'payment_returned'])
  assert.match(detail!, /may have bought before .* waits for a person/)
  assert.deepEqual(await states(), ['held'])
  assert.equal(await delivered(), 1)
  assert.equal(await mppPushUnderTest.balance(shop, buyer.address), before)
})

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
  test(`E146: what came by ${rail.name}, and comes again after a restore without a word, waits for a person`, async (t) => {
    const { bringAgain, states } = await forget(t, rail)
    await bringAgain()
    assert.deepEqual(await states(), ['held'])
    assert.deepEqual(await states(), ['held'], 'and stays so')
  })

for (const rail of [x402UnderTest, mppPullUnderTest])
  test(`E146: an authorization by ${rail.name} that was asked for before a restore is not taken once more`, async (t) => {
    const { shop, service, buyer, showAgain, delivered } = await forget(t, rail)
    const { status, code } = await showAgain()
    assert.deepEqual([status, code], [409, 'payment_conflict'])
    assert.equal(await delivered(), 1)
    const anew = await buy({ ...shop, url: service.url }, rail, buyer)
    assert.equal(anew.response.status, 200, 'what it asks for now is taken')
  })
