import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { buy, impatiently, LOT } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPushUnderTest } from '../../support/credentials.ts'
import { startWithBackup } from '../support/stepped-shop.ts'

// Replicas need not have the same tills: one host sells by x402 and another by MPP, or a rail moves replica by replica.

test('E66: a replica that has other tills does not use up the proof that a store is an older copy', async (t) => {
  const { shop, backup, buyer } = await startWithBackup(t)
  await copyDatabase(shop.store.db, backup, silentLog)
  // As a disk that was taken back, and nobody sold when it was: nothing but the keys can tell.
  await backup.query(`update tills set birth = store_birth() || ' '`)
  await backup.query('delete from witnesses')
  const { credential, response } = await buy(shop, mppPushUnderTest, buyer)
  assert.equal(response.status, 200)
  const first = await shop.replica({
    database: backup,
    configure: (config) => impatiently({ ...config, mpp: null }),
  })
  await first.stop()
  const restored = await shop.replica({ database: backup, configure: impatiently })
  const request = { ...LOT, beneficiary: buyer.address }
  const again = await fetch(`${restored.url}/agentic/mpp/buy`, post(request, { authorization: credential }))
  const { code } = (await again.json()) as { code?: string }
  assert.deepEqual([again.status, code], [409, 'payment_conflict'])
})
