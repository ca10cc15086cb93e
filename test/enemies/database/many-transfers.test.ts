import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hash } from '../../../src/base/address.ts'
import { systemRandom } from '../../../src/base/id.ts'
import type { Transfer } from '../../../src/domain/receiving-account.ts'
import { openAccount, recordReading } from '../../../src/store/transfers/accounts.ts'
import { matchTransfers } from '../../../src/store/transfers/matching.ts'
import { findMissing } from '../../../src/store/transfers/missing.ts'
import { openStore } from '../../support/database.ts'

// A planner that believes in a nearly empty table joins what was seen with what is known row by row, and so does a plan that was kept from the time
// when the table was nearly empty. The limit of a statement is the judge here: it ends one that has gone mad.

const [NETWORK, ASSET, PAY_TO] = ['eip155:1', '0xasset', '0xaccount']
const ACCOUNT = `${NETWORK}/${ASSET}/${PAY_TO}`
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

/** A receiving account with one transfer, and a reader of it. */
async function startWithOne(t: TestContext, statementMsMax = 5_000) {
  const store = await openStore('postgres', { statementMsMax })
  t.after(() => store.drop())
  const { db } = store
  await openAccount(db, ACCOUNT, async () => 0n)
  const read = (transfers: readonly Transfer[]) =>
    recordReading(db, ACCOUNT, { fromBlock: 1n, toBlock: 200n, transfers }, systemRandom)
  for (let i = 0; i < UNTIL_KEPT; i++) await read(dust(1))
  return { db, read }
}

test('E38: two thousand transfers are read, and read again, whatever the statistics say', async (t) => {
  const { db, read } = await startWithOne(t)
  await db.query('analyze transfers')
  for (let times = 1; times <= 2; times++) await read(dust(2_100))
  const { rows } = await db.query('select state, count(*)::int as n from transfers group by state')
  assert.deepEqual(rows, [{ state: 'unmatched', n: 2_100 }])
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
  insert into transfers (id, account, transaction, log_index, block_number, sender, amount)
  select 'trf_${name}' || i, '${ACCOUNT}', ${transaction}, i, 100, '${SENDER}', 1000
  from generate_series(1, $1::int) as i`

test('E38: thousands of equal payments in one transaction are told from those that stand alone, whatever the planner believes', async (t) => {
  const store = await openStore('postgres')
  t.after(() => store.drop())
  const { db } = store
  await openAccount(db, ACCOUNT, async () => 0n)
  const pay = async (count: number, name: string, transaction: string) => {
    await db.query(ordersPaidBy(transaction, name), [count])
    await db.query(transfersIn(transaction, name), [count])
  }
  for (let i = 0; i < UNTIL_KEPT; i++) {
    await pay(1, `first${i}_`, `'0xfirst${i}'`)
    if (i === 0) await db.query('analyze transfers, orders')
    await matchTransfers(db, ACCOUNT)
  }
  await pay(5_000, 'one', `'0xone'`)
  await pay(1_000, 'each', `'0xeach' || i`)
  const twins = await matchTransfers(db, ACCOUNT)
  assert.deepEqual(
    twins.map(({ transfers, orders }) => [transfers.length, orders]),
    [[5_000, 5_000]],
  )
  const { rows } = await db.query<{ n: number; right: number }>(
    `select count(*)::int as n, count(*) filter (where order_id = replace(id, 'trf_', 'ord_'))::int as right
     from transfers where state = 'matched'`,
  )
  assert.deepEqual(rows, [{ n: 1_000 + UNTIL_KEPT, right: 1_000 + UNTIL_KEPT }])
  const missing = await findMissing(db, {
    ...{ network: NETWORK, asset: ASSET, payTo: PAY_TO, known: [], limit: 10_000 },
    ...{ settledAfter: Date.now() - 600_000, settledBefore: Date.now() + 60_000 },
  })
  assert.equal(missing.length, 5_000)
})
