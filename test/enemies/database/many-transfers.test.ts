import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hash } from '../../../src/base/address.ts'
import { systemRandom } from '../../../src/base/id.ts'
import type { Transfer } from '../../../src/domain/till.ts'
import { arrivalsLikeMissing, matchArrivals } from '../../../src/store/tills/matching.ts'
import { findMissing } from '../../../src/store/tills/missing-settlements.ts'
import { openTill, recordScan, recordTransfers } from '../../../src/store/tills/scan.ts'
import { openStore } from '../../support/database.ts'

// A planner that believes in a nearly empty table joins what was seen with what is known row by row, and so does a plan that was kept from the time
// when the table was nearly empty. The limit of a statement is the judge here: it ends one that has gone mad.

const [NETWORK, ASSET, PAY_TO] = ['eip155:1', '0xasset', '0xtill']
const TILL = `${NETWORK}/${ASSET}/${PAY_TO}`
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

/** A connection keeps the plan of a statement that was asked so many times. */
const UNTIL_KEPT = 8

/** A till with one transfer, and a reader of it. */
async function startWithOne(t: TestContext, statementMsMax = 5_000) {
  const store = await openStore('postgres', { statementMsMax })
  t.after(() => store.drop())
  const { db } = store
  await openTill(db, TILL, async () => 0n)
  const read = (transfers: readonly Transfer[]) =>
    recordScan(db, TILL, { fromBlock: 1n, toBlock: 200n, transfers }, systemRandom)
  for (let i = 0; i < UNTIL_KEPT; i++) await read(dust(1))
  return { db, read }
}

test('E38: two thousand transfers are read, and read again, whatever the statistics say', async (t) => {
  const { db, read } = await startWithOne(t)
  await db.query('analyze arrivals')
  // Those of the first transaction were all read at once.
  for (let times = 1; times <= 2; times++) await read(dust(2_100).slice(PER_TRANSACTION))
  const { rows } = await db.query<{ state: string; n: number }>(
    'select state, count(*)::int as n from arrivals group by state',
  )
  assert.deepEqual(rows, [{ state: 'unclaimed', n: 2_100 - PER_TRANSACTION + 1 }])
})

test('M-26: what a caller has shown goes again when the final blocks do not show it, and stays where it is when they do', async (t) => {
  const { db, read } = await startWithOne(t)
  await db.query('delete from arrivals')
  const [kept, moved, back, gone] = dust(4).map((transfer, at) => ({ ...transfer, logIndex: at }))
  const show = (transfers: readonly Transfer[]) =>
    recordTransfers(db, TILL, { transfers, isFinal: false }, systemRandom)
  await show([kept!, moved!, back!, gone!])
  await db.query(`update arrivals set state = 'refunding' where log_index = $1`, [back!.logIndex])
  await read([kept!, { ...moved!, logIndex: 9, blockNumber: 101n }])
  const { rows } = await db.query('select log_index, block_number::int, state, final from arrivals order by log_index')
  assert.deepEqual(rows, [
    { log_index: kept!.logIndex, block_number: 100, state: 'unclaimed', final: true },
    { log_index: back!.logIndex, block_number: 100, state: 'refunding', final: false },
    { log_index: 9, block_number: 101, state: 'unclaimed', final: true },
  ])
  await show([{ ...kept!, amount: 7n }])
  const { rows: again } = await db.query('select amount from arrivals where log_index = $1', [kept!.logIndex])
  assert.deepEqual(again, [{ amount: '1' }], 'what is final is never written again')
})

/** So many orders, all paid by one transaction or each by one of its own. */
const ordersPaidBy = (transaction: string, name: string) => `
  insert into orders (
    id, flow_id, surface, good, rail, status, funds, request_digest, input, payer, amount, asset, network, pay_to, proof_digest,
    expires_at, payment_tx, settled_at, history)
  select 'ord_${name}' || i, 'flow', 'shop', 'shopItem', 'mpp', 'confirmed', 'captured', 'digest', '{}', '${SENDER}', 1000,
         '${ASSET}', '${NETWORK}', '${PAY_TO}', 'proof', now(), ${transaction}, now(), '[]'
  from generate_series(1, $1::int) as i`

const transfersIn = (transaction: string, name: string) => `
  insert into arrivals (id, till, transaction, log_index, block_number, sender, amount, state)
  select 'arr_${name}' || i, '${TILL}', ${transaction}, i, 100, '${SENDER}', 1000, 'unclaimed'
  from generate_series(1, $1::int) as i`

test('E38: thousands of equal payments in one transaction are told from those that stand alone, whatever the planner believes', async (t) => {
  const store = await openStore('postgres')
  t.after(() => store.drop())
  const { db } = store
  await openTill(db, TILL, async () => 0n)
  const pay = async (count: number, name: string, transaction: string) => {
    await db.query(ordersPaidBy(transaction, name), [count])
    await db.query(transfersIn(transaction, name), [count])
  }
  for (let i = 0; i < UNTIL_KEPT; i++) {
    await pay(1, `first${i}_`, `'0xfirst${i}'`)
    if (i === 0) await db.query('analyze arrivals, orders')
    await matchArrivals(db, TILL)
  }
  await pay(5_000, 'one', `'0xone'`)
  await pay(1_000, 'each', `'0xeach' || i`)
  const twins = await matchArrivals(db, TILL)
  assert.deepEqual(
    twins.map(({ arrivals, orders }) => [arrivals.length, orders]),
    [[5_000, 5_000]],
  )
  const { rows } = await db.query<{ n: number; right: number }>(
    `select count(*)::int as n, count(*) filter (where order_id = replace(id, 'arr_', 'ord_'))::int as right
     from arrivals where state = 'matched'`,
  )
  assert.deepEqual(rows, [{ n: 1_000 + UNTIL_KEPT, right: 1_000 + UNTIL_KEPT }])
  await findMissing(db, {
    ...{ till: TILL, network: NETWORK, asset: ASSET, payTo: PAY_TO },
    ...{ seconds: 600, before: Date.now() + 60_000 },
  })
  const missing = await db.query<{ n: number }>('select count(*)::int as n from missing_settlements')
  assert.equal(missing.rows[0]!.n, 5_000)
})

test('M-26: what may be a missing payment is found among thousands, whatever the statistics say', async (t) => {
  const store = await openStore('postgres')
  t.after(() => store.drop())
  const { db } = store
  await openTill(db, TILL, async () => 0n)
  const lose = async (count: number, name: string) => {
    await db.query(ordersPaidBy(`'0x${name}' || i`, name), [count])
    await db.query(transfersIn(`'0xother${name}' || i`, name), [count * 5])
    await db.query(
      `insert into missing_settlements (order_id, till, state, detail)
       select 'ord_${name}' || i, '${TILL}', 'open', 'A test.' from generate_series(1, $1::int) as i`,
      [count],
    )
  }
  await lose(1, 'first')
  await db.query('analyze arrivals, orders, missing_settlements')
  await lose(1_000, 'each')
  assert.equal((await arrivalsLikeMissing(db, TILL)).length, 10)
})
