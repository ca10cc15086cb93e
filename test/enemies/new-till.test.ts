import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../src/base/log.ts'
import type { Config } from '../../src/config/config.ts'
import { copyDatabase } from '../../src/store/copy.ts'
import { nftsOf } from '../crash/flows.ts'
import { impatiently, LOT } from '../operations/desk.ts'
import { post } from '../support/buyers.ts'
import { mppPushUnderTest } from '../support/credentials.ts'
import { startWithBackup } from './by-hand.ts'

// C-12 together with another address to be paid at: the backup is older than the till, so nothing in it tells from where on to read.

const RECIPIENT = '0x00000000000000000000000000000000005e11e2'

test('E67: money that came to a till which is younger than the backup does not buy again after it was put back', async (t) => {
  const { shop, backup, buyer } = await startWithBackup(t)
  await copyDatabase(shop.store.db, backup, silentLog)
  const configure = (config: Config) => impatiently({ ...config, mpp: { ...config.mpp!, recipient: RECIPIENT } })
  const request = { ...LOT, beneficiary: buyer.address }
  const { url } = await shop.replica({ configure })
  const credential = await mppPushUnderTest.pay(shop, buyer, await fetch(`${url}/agentic/mpp/buy`, post(request)))
  const paid = post(request, { authorization: credential })
  assert.equal((await fetch(`${url}/agentic/mpp/buy`, paid)).status, 200)
  const restored = await shop.replica({ database: backup, configure })
  const again = await fetch(`${restored.url}/agentic/mpp/buy`, paid)
  const { code } = (await again.json()) as { code?: string }
  const nfts = await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address)
  assert.deepEqual({ status: again.status, code, nfts }, { status: 409, code: 'payment_conflict', nfts: 1 })
})
