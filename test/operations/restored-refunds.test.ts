import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refundOrder } from '../../src/checkout/refund.ts'
import type { Service } from '../../src/service/service.ts'
import { acceptStore } from '../../src/store/history.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { copyStore } from '../support/copy-store.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { openBackup } from '../support/database.ts'
import { startShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { buy, buyUrl, CURSED_LOT, impatiently, payFor } from './desk.ts'

const rails = [x402UnderTest, mppPullUnderTest]

test('C-12: a store restored from an older backup pays nothing back that was paid back since, neither by itself nor for an operator', async (context) => {
  const { promise: backupTaken, resolve: goOn } = Promise.withResolvers<void>()
  let failed = 0
  const shop = await startShop({
    // Orders that cannot be delivered stand still right before their refund, until there is a backup.
    waypoint: async (name) => {
      if (name !== 'order.failed') return
      failed++
      await backupTaken
    },
  })
  const backup = await openBackup()
  context.after(async () => {
    await shop.stop()
    await backup.drop()
  })
  const buyer = await fundedWallet(shop)
  const orderIds: string[] = []
  const presented: Promise<Response>[] = []
  for (const rail of rails) {
    orderIds.push((await buy(shop, rail, buyer)).body.orderId)
    const { request, credential } = await payFor(shop, rail, buyer, CURSED_LOT)
    presented.push(fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential })))
  }
  await until(() => failed === rails.length)
  await copyStore(shop.store.db, backup.db)
  goOn()
  for (const response of await Promise.all(presented))
    orderIds.push(((await response.json()) as { orderId: string }).orderId)

  const refundOf = async (service: Service, orderId: string) =>
    (await service.checkout.orders.byId(orderId))!.refund?.transaction ?? null
  const [delivered, cursed] = [orderIds.slice(0, rails.length), orderIds.slice(rails.length)]
  for (const orderId of delivered) await refundOrder(shop.service.checkout, orderId, { reason: 'late', by: 'ada' })
  for (const orderId of orderIds) await until(() => refundOf(shop.service, orderId))
  const balances = () => Promise.all(rails.map((rail) => rail.balance(shop, buyer.address)))
  const balancesAfter = await balances()

  // Whoever worked on them at the time of the backup is gone.
  await backup.db.query(`update jobs set run_at = now(), lease = null where kind = 'order'`)
  await acceptStore(backup.db, { isComplete: false })
  const restored = await shop.replica({ database: backup.db, configure: impatiently })
  for (const orderId of cursed) await until(() => refundOf(restored, orderId))
  for (const orderId of delivered) await refundOrder(restored.checkout, orderId, { reason: 'late', by: 'bob' })
  for (const orderId of orderIds) {
    // On a busy machine its short lease may run out, and then the worker ends it.
    await until(() => refundOf(restored, orderId))
    assert.equal(await refundOf(restored, orderId), await refundOf(shop.service, orderId), 'the very same transaction')
  }
  assert.deepEqual(await balances(), balancesAfter, 'and not one more')
})
