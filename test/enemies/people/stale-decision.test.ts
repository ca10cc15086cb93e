import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buy } from '../../operations/desk.ts'
import { codeOf, joined } from '../../operations/people-desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'

// One person finds that nothing was delivered, the game is asked once more, and a day later another person says yes to the first finding.

test('O-20: a finding about a delivery is not approved for a request that left after it', async (t) => {
  const shop = await startShop({ env: { SUTLER_SECOND_PERSON_FROM: '0.10' }, withSandboxRoutes: true })
  t.after(() => shop.stop())
  const [ada, bob] = [await joined(shop, 'Ada', 'admin'), await joined(shop, 'Bob', 'support')]
  const { db } = shop.store
  const doubtful = async () => {
    const { orderId } = (await buy(shop, x402UnderTest, await fundedWallet(shop))).body
    await db.query(`update orders set status = 'submitted' where id = $1`, [orderId])
    await db.query(
      `insert into game_calls (order_id, sent_at) values ($1, date_trunc('milliseconds', now()) - interval '2 hours')`,
      [orderId],
    )
    const answer = await ada.call('POST', `/operator/orders/${orderId}/decide`, { outcome: 'not_delivered' })
    assert.equal(answer.status, 202)
    const { approval } = (await answer.json()) as { approval: { id: string } }
    return { orderId, approve: () => bob.call('POST', `/operator/approvals/${approval.id}/approve`, {}) }
  }
  const verdictOf = async (orderId: string) =>
    (await db.query<{ verdict: string | null }>('select verdict from game_calls where order_id = $1', [orderId]))
      .rows[0]!.verdict

  const asked = await doubtful()
  await db.query(`update game_calls set sent_at = sent_at + interval '1 hour' where order_id = $1`, [asked.orderId])
  assert.equal(await codeOf(await asked.approve()), '409 changed_meanwhile')
  assert.equal(await verdictOf(asked.orderId), null)

  const unchanged = await doubtful()
  assert.equal(await codeOf(await unchanged.approve()), '200')
  assert.equal(await verdictOf(unchanged.orderId), 'not_delivered')
})
