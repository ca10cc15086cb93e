import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import type { Service } from '../../../src/service/service.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { said } from '../../checkout/counter.ts'
import { callTool } from '../../mcp/rpc.ts'
import { buy, impatiently, LOT_PRICE } from '../../operations/desk.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startWithBackup } from '../support/stepped-shop.ts'
import { forgetPurchase } from './forgotten-purchase.ts'
import { startDeaf } from './unreachable-chain.ts'

// What became of a payment can always be asked, by whatever its payer holds. A store that was put back knows none of these names.

async function takenBy({ url }: Pick<Service, 'url'>, path: string) {
  const answer = await fetch(url + path)
  return { status: answer.status, taken: (await said(answer)).payment.taken }
}

/** What a payment is known by that has paid, been delivered, and been forgotten by the store of the shop that is asked. */
async function buyForgotten(t: TestContext, rail: RailUnderTest) {
  const { shop, backup, buyer } = await startWithBackup(t)
  await copyDatabase(shop.store.db, backup, silentLog)
  const till = await rail.till(shop)
  const { response, body } = await buy(shop, rail, buyer)
  assert.deepEqual([response.status, (await rail.till(shop)) - till], [200, LOT_PRICE])
  return { restored: await shop.replica({ database: backup, configure: impatiently }), orderId: body.orderId }
}

for (const rail of [x402UnderTest, mppPullUnderTest])
  test(`E152: whoever has paid by ${rail.name} and asks by the id of an order that was forgotten does not hear that nothing was taken`, async (t) => {
    const { restored, orderId } = await buyForgotten(t, rail)
    const unknown = { status: 404, taken: 'unknown' }
    for (const path of [`/payments/${orderId}`, `/agentic/${rail.rail}/purchases/${orderId}`])
      assert.deepEqual(await takenBy(restored, path), unknown, path)
  })

test('E152: nor over MCP', async (t) => {
  const { restored, orderId } = await buyForgotten(t, x402UnderTest)
  const { content } = await callTool(`${restored.url}/mcp`, 'get_purchase_status', { paymentTx: orderId })
  assert.match(JSON.stringify(content), /may have moved/)
})

for (const isRead of [true, false])
  test(`E152: nor who asks by the nonce of what a forgotten purchase has sent, ${isRead ? 'when' : 'before'} the books are read`, async (t) => {
    const forgotten = await forgetPurchase(t, x402UnderTest)
    const { nonce } = JSON.parse(Buffer.from(forgotten.credential, 'base64').toString()).payload.authorization
    const service = isRead ? await forgotten.open() : (await startDeaf(forgotten, x402UnderTest)).service
    assert.deepEqual(await takenBy(service, `/payments/${nonce}`), { status: 404, taken: 'unknown' })
  })
