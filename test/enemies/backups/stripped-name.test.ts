import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keccak256, toBytes } from 'viem'
import { createMeddler } from '../../checkout/meddler.ts'
import { buyAfterBackup, HELD, twoNodes } from './purchase-after-backup.ts'

// C-12 with two nodes, the first of which shows the receipt of a spent payment without what names it, just as it is set aside.

const WITH_MEMO = keccak256(toBytes('TransferWithMemo(address,address,uint256,bytes32)'))

test('E94: a spent payment whose name one of two nodes leaves out does not buy again after a backup was put back', async (t) => {
  const { shop, backup, putBack, again } = await buyAfterBackup(t)
  const meddler = createMeddler()
  const heal = meddler.meddle('eth_getTransactionReceipt', async (_params, ask) => {
    const receipt = (await ask()) as { logs: { topics: string[] }[] } | null
    return receipt && { ...receipt, logs: receipt.logs.filter(({ topics }) => topics[0] !== WITH_MEMO) }
  })
  const { url } = await putBack(twoNodes(shop, meddler))
  assert.equal((await backup.query(`select from arrivals where state = 'held'`)).rows.length, 0)
  heal()
  assert.deepEqual(await again(url), HELD)
})
