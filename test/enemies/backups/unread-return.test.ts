import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { said } from '../../checkout/counter.ts'
import { buy, LOT } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { onAnotherNetwork } from '../../support/configured.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startWithBackup } from '../support/stepped-shop.ts'
import { startHearing } from './unreachable-chain.ts'

// E150 on a network that the shop has left since: what landed there has bought, as far as anybody knows.

/** One chain plays both networks. */
test('E156: whoever has bought on a network that the shop has left is not promised their money back before the books are read', async (t) => {
  const { shop, backup, buyer } = await startWithBackup(t)
  await copyDatabase(shop.store.db, backup, silentLog)
  const { response, credential } = await buy(shop, x402UnderTest, buyer)
  assert.equal(response.status, 200)
  const { service } = await startHearing(
    { shop, backup },
    { chain: 'tempo', isDeaf: true, configure: onAnotherNetwork },
  )
  const paid = post({ ...LOT, beneficiary: buyer.address }, { [x402UnderTest.header]: credential })
  const answer = await fetch(`${service.url}/agentic/x402/buy`, paid)
  const { code, payment, refund } = await said(answer)
  const { rows } = await backup.query('select id from arrivals')
  assert.deepEqual(
    { status: answer.status, code, taken: payment.taken, refund, written: rows.length },
    { status: 503, code: 'chain_unavailable', taken: 'unknown', refund: null, written: 0 },
  )
})
