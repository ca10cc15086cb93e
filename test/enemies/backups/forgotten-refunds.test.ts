import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { silentLog } from '../../../src/base/log.ts'
import { Secret } from '../../../src/base/secret.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { buy, impatiently, LOT_PRICE } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { withTreasury } from '../../support/configured.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { openBackup } from '../../support/database.ts'
import { refundByOperator } from '../../support/operator-refund.ts'
import { startShop } from '../../support/shop.ts'

// C-12: a key that had signed nothing when the backup was made, as every key that was put in a moment ago. What it had sent is looked for before
// its first refund; is it before its second one?

async function startWithBackup(t: TestContext, rail: RailUnderTest) {
  const shop = await startShop({ withoutWorker: true })
  const backup = await openBackup()
  t.after(async () => {
    await shop.stop()
    await backup.drop()
  })
  const buyers = [await fundedWallet(shop), await fundedWallet(shop)] as const
  const sold = [await buy(shop, rail, buyers[0]), await buy(shop, rail, buyers[1])] as const
  await copyDatabase(shop.store.db, backup.db, silentLog)
  const before = await rail.balance(shop, buyers[0].address)
  return { shop, backup: backup.db, orderIds: sold.map(({ body }) => body.orderId), buyer: buyers[0], before }
}

for (const rail of [x402UnderTest, mppPullUnderTest])
  for (const isRotated of [false, true])
    test(`E65: a refund by ${rail.name} that the store has forgotten is found after another one${isRotated ? ', by a key that was put in between' : ''}`, async (t) => {
      const { shop, backup, orderIds, buyer, before } = await startWithBackup(t, rail)
      const [forgotten, other] = orderIds as [string, string]
      const key = generatePrivateKey()
      await fundedWallet(shop, 1_000n, privateKeyToAccount(key))
      const configure = isRotated ? withTreasury(new Secret(key)) : impatiently
      const lost = isRotated ? await shop.replica({ configure }) : shop.service
      await refundByOperator(lost, forgotten)
      const restored = await shop.replica({ database: backup, configure, withoutWorker: false })
      await refundByOperator(restored, other)
      await refundByOperator(restored, forgotten)
      assert.equal(await rail.balance(shop, buyer.address), before + LOT_PRICE)
    })
