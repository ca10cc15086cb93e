import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { letGoOf } from '../../../src/store/retention/step.ts'
import { buy, impatiently, LOT_PRICE } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { openBackup } from '../../support/database.ts'
import { refundByOperator } from '../../support/operator-refund.ts'
import { startShop } from '../../support/shop.ts'
import { untilAnswered } from '../../support/until.ts'

// E65, and what was sent after the backup was put back is old by now: it is let go of, and what the copy had lost before it is not.

for (const rail of [x402UnderTest, mppPullUnderTest])
  test(`E74: a refund by ${rail.name} that the store has forgotten does not count as let go of with what came after it`, async (t) => {
    const shop = await startShop({ withoutWorker: true })
    const backup = await openBackup()
    t.after(async () => {
      await shop.stop()
      await backup.drop()
    })
    const buyers = [await fundedWallet(shop), await fundedWallet(shop), await fundedWallet(shop)]
    const orderIds: string[] = []
    for (const buyer of buyers) orderIds.push((await buy(shop, rail, buyer)).body.orderId)
    const [forgotten, ...others] = orderIds as [string, ...string[]]
    await copyDatabase(shop.store.db, backup.db, silentLog)
    const before = await rail.balance(shop, buyers[0]!.address)
    await refundByOperator(shop.service, forgotten)
    const restored = await shop.replica({ database: backup.db, configure: impatiently, withoutWorker: false })
    for (const other of others) await refundByOperator(restored, other)
    // A season later.
    await backup.db.query('update sends set buried = true where landed_block is not null')
    await untilAnswered(async () => {
      const { rows } = await backup.db.query('select from jobs where key = any ($1)', [others])
      return rows.length === 0 ? true : null
    })
    assert.ok((await letGoOf(backup.db, 'sends', Date.now() + 1_000)) > 0)
    await refundByOperator(restored, forgotten)
    assert.equal(await rail.balance(shop, buyers[0]!.address), before + LOT_PRICE)
  })
