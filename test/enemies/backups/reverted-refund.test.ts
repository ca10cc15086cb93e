import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { refundTransfer } from '../../../src/chain/transfer.ts'
import { USDC_ADDRESS } from '../../../src/devchain/rules.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { senderDesk, target } from '../../support/sender-desk.ts'

// A refund that never landed does not count as what its nonce went to. One that was mined and reverted has used its nonce itself.

let store: TestStore
before(async () => {
  store = await openStore('postgres')
})
after(() => store.drop())

const refundTo = (place: number) => ({ token: USDC_ADDRESS, to: target(place), amount: 5n, since: 0n }) as const

test('E100: a treasury of which one refund has reverted is not taken for one that was put back, and searches no chain for the next', async (t) => {
  const desk = await senderDesk(t, store)
  await desk.ask('dev_mintToken', USDC_ADDRESS, desk.wallet.address, '0x1000')
  const sender = await desk.sender({ waitMs: 200, stuckAfterMs: 60_000 })
  const first = { ...(await desk.newErrand('refund')), rpc: desk.rpc, sender }
  await desk.fault({ kind: 'revert', to: USDC_ADDRESS })
  assert.equal((await refundTransfer(first, refundTo(8))).kind, 'pending')
  await desk.bury()
  assert.equal((await refundTransfer(first, refundTo(8))).kind, 'refunded')
  const searched = desk.meddler.seen('eth_getLogs').length
  const next = { ...(await desk.newErrand('refund')), rpc: desk.rpc, sender }
  assert.equal((await refundTransfer(next, refundTo(9))).kind, 'refunded')
  assert.deepEqual(
    { hasLost: await sender.hasLost(sender.address), searches: desk.meddler.seen('eth_getLogs').length - searched },
    { hasLost: false, searches: 0 },
  )
})
