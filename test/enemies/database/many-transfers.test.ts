import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hash } from '../../../src/base/address.ts'
import { systemRandom } from '../../../src/base/id.ts'
import type { Transfer } from '../../../src/domain/till.ts'
import { arrivalsLikeMissing, matchArrivals } from '../../../src/store/tills/matching.ts'
import { findMissing } from '../../../src/store/tills/missing-settlements.ts'
import { openTill, recordScan } from '../../../src/store/tills/scan.ts'
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
  await openTill(db, TILL, { after: async () => 0n, again: 128n })
  const read = (transfers: readonly Transfer[]) =>
    recordScan(db, TILL, { fromBlock: 1n, toBlock: 200n, transfers, mayMoveFrom: 1n }, systemRandom)
  for (let i = 0; i < UNTIL_KEPT; i++) await read(dust(1))
  return { db, read }
}

test('E36: two thousand transfers are read, and read again, whatever the statistics say', async (t) => {
  const { db, read } = await startWithOne(t)
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

for (const state of ['refunding', 'refunded'])
  test(`E144: what is ${state}, and what the chain drops and shows again much later, is one arrival and no second one`, async (t) => {
    const store = await openStore('postgres')
    t.after(() => store.drop())
    const { db } = store
    await openTill(db, TILL, { after: async () => 0n, again: 128n })
    const look = (fromBlock: bigint, transfers: readonly Transfer[]) =>
      recordScan(db, TILL, { fromBlock, toBlock: fromBlock + 128n, transfers, mayMoveFrom: fromBlock }, systemRandom)
    const [transfer] = dust(1)
    await look(1n, [transfer!])
    await db.query('update arrivals set state = $1', [state])
    await look(1n, [])
    await look(130n, [{ ...transfer!, blockNumber: 200n, logIndex: 9 }])
    const { rows } = await db.query('select state, log_index, block_number::int from arrivals')
    assert.deepEqual(rows, [{ state, log_index: 9, block_number: 200 }])
  })

test('E197, E207: ten thousand transfers are compared with as many arrivals, of which one is missing, and all go, whatever the planner believes', async (t) => {
  // What has gone mad takes minutes, and a busy machine some seconds.
  const { db, read } = await startWithOne(t, 20_000)
  await db.query('analyze arrivals, missing_settlements')
  for (let i = 0; i < UNTIL_KEPT; i++) {
    await read([])
    await read(dust(1))
  }
  await db.query(`update arrivals set state = 'refunded'`)
  await read([])
  const missing = async () => (await db.query('select from missing_settlements')).rowCount
  assert.equal(await missing(), 1)
  await read(dust(10_000).slice(PER_TRANSACTION))
  assert.equal(await missing(), 1)
  await read(dust(10_000))
  assert.equal(await missing(), 0)
  await read([])
  const states = await db.query('select state, count(*)::int as n from arrivals group by state order by n')
  assert.deepEqual(states.rows, [
    { state: 'refunded', n: 1 },
    { state: 'dropped', n: 9_999 },
  ])
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

test('E43, E207: thousands of equal payments in one transaction are told from those that stand alone, whatever the planner believes', async (t) => {
  const store = await openStore('postgres')
  t.after(() => store.drop())
  const { db } = store
  await openTill(db, TILL, { after: async () => 0n, again: 128n })
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

test('E56: what may be a missing payment is found among thousands, whatever the statistics say', async (t) => {
  const store = await openStore('postgres')
  t.after(() => store.drop())
  const { db } = store
  await openTill(db, TILL, { after: async () => 0n, again: 128n })
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
