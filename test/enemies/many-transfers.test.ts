import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Hash } from '../../src/base/address.ts'
import { systemRandom } from '../../src/base/id.ts'
import type { Transfer } from '../../src/domain/till.ts'
import { openTill, recordScan } from '../../src/store/tills/scan.ts'
import { openStore } from '../support/database.ts'

// A planner that believes in a nearly empty table joins what was seen with what is known row by row. The store's own limit of a statement
// is the judge here: it ends one that has gone mad.

const TILL = 'till'
const PER_TRANSACTION = 10
const SENDER = `0x${'ab'.repeat(20)}` as const

const dust = (count: number): readonly Transfer[] =>
  Array.from({ length: count }, (_, at) => ({
    transaction: `0x${Math.floor(at / PER_TRANSACTION)
      .toString(16)
      .padStart(64, '0')}` as Hash,
    logIndex: at % PER_TRANSACTION,
    blockNumber: 100n,
    sender: SENDER,
    amount: 1n,
  }))

test('E36: two thousand transfers are read, and read again, whatever the statistics say', async (t) => {
  const store = await openStore('postgres')
  t.after(() => store.drop())
  const { db } = store
  await openTill(db, TILL, { after: 0n, again: 128n })
  const read = (transfers: readonly Transfer[]) =>
    recordScan(db, TILL, { fromBlock: 1n, toBlock: 200n, transfers }, systemRandom)
  await read(dust(1))
  await db.query('analyze arrivals')
  await read(dust(2_100))
  await read(dust(2_100))
  // Mined again behind another log, all of them.
  await read(dust(2_100).map((transfer) => ({ ...transfer, logIndex: transfer.logIndex + 1 })))
  const { rows } = await db.query<{ state: string; n: number; first: number }>(
    'select state, count(*)::int as n, min(log_index) as first from arrivals group by state',
  )
  assert.deepEqual(rows, [{ state: 'unclaimed', n: 2_100, first: 1 }])
})
