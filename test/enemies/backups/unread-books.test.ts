import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import type { ReconcilePolicy } from '../../../src/checkout/reconcile-context.ts'
import type { Service } from '../../../src/service/service.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { nftsOf } from '../../crash/flows.ts'
import { AT_ONCE, buy, reconcileRail } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { until } from '../../support/until.ts'
import { isOpen } from '../support/moving-store.ts'
import { startWithBackup } from '../support/stepped-shop.ts'
import { startDeaf } from './unreachable-chain.ts'

// A store was put back, and while one chain does not answer nobody can say what it has forgotten: the shop sells nothing. Whoever keeps the books of the other
// chain must not take the word of that store either.

/** As a disk that was taken back, and nobody sold when it was: nothing but the keys, and a long silence, can tell. */
async function startTakenBack(t: TestContext) {
  const parts = await startWithBackup(t)
  const { shop, backup } = parts
  await copyDatabase(shop.store.db, backup, silentLog)
  await backup.query(`update tills set birth = store_birth() || ' '`)
  await backup.query('delete from witnesses')
  return parts
}

/** Whoever keeps the books tries to; how they fare is not the question. */
async function keepBooks(service: Service, rail: RailUnderTest, policy: Partial<ReconcilePolicy> = {}): Promise<void> {
  await reconcileRail({ service }, rail, policy).catch(() => {})
}

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
  test(`E149: what has bought by ${rail.name} before a restore does not go back while another chain cannot be read`, async (t) => {
    const parts = await startTakenBack(t)
    const { shop, buyer } = parts
    assert.equal((await buy(shop, rail, buyer)).response.status, 200)
    const left = await rail.balance(shop, buyer.address)
    const { service } = await startDeaf(parts, rail)
    await keepBooks(service, rail, AT_ONCE)
    const back = (await rail.balance(shop, buyer.address)) - left
    const nfts = await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address)
    assert.deepEqual({ back, nfts }, { back: 0n, nfts: 1 })
  })

test('E149: a look at a till in that time does not end the silence that tells of a restore', async (t) => {
  const rail = mppPushUnderTest
  const parts = await startTakenBack(t)
  const { shop, backup, buyer } = parts
  await backup.query(`update tills set alive_at = now() - interval '2 hours'`)
  const request = { itemId: 'keys:5', nickname: 'Demo' }
  // No key of the shop has a part in it.
  const credential = await rail.pay(shop, buyer, await fetch(`${shop.url}/shop/mpp/buy`, post(request)))
  const show = ({ url }: Pick<Service, 'url'>) =>
    fetch(`${url}/shop/mpp/buy`, post(request, { [rail.header]: credential }))
  assert.equal((await show(shop)).status, 200)
  const left = await rail.balance(shop, buyer.address)
  const { service, hear } = await startDeaf(parts, rail)
  await keepBooks(service, rail)
  hear()
  await until(async () => isOpen(service))
  const { status } = await show(service)
  await keepBooks(service, rail, AT_ONCE)
  const back = (await rail.balance(shop, buyer.address)) - left
  assert.deepEqual({ status, back }, { status: 409, back: 0n })
})
