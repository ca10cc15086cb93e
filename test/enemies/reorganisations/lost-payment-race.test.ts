import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Send } from '../../../src/domain/journal.ts'
import type { Queryable } from '../../../src/store/db.ts'
import { createSendWatch } from '../../../src/store/sends/watch.ts'
import { listMissing } from '../../../src/store/tills/missing-settlements.ts'
import { openTill } from '../../../src/store/tills/scan.ts'
import { openStore } from '../../support/database.ts'
import { until } from '../../support/until.ts'

// One replica lays a delivery to rest because its payment is lost; another one sees at the same moment that the payment is back.

const [NETWORK, ASSET, PAY_TO] = ['eip155:1', '0xasset', '0xtill']
const TILL = `${NETWORK}/${ASSET}/${PAY_TO}`
const SEND = { chainId: 1, signer: '0xminter', nonce: 0, orderId: 'ord_1' } as unknown as Send

const rest = (queryable: Queryable) =>
  createSendWatch(queryable, { till: TILL, network: NETWORK, asset: ASSET, payTo: PAY_TO }).rest(SEND)
const crossOff = (queryable: Queryable) => listMissing(queryable, TILL, 10)

/** A delivery that the chain dropped with its payment, which is there again. */
async function openBooks(t: TestContext) {
  const store = await openStore('postgres')
  t.after(() => store.drop())
  const { db } = store
  await openTill(db, TILL, { after: async () => 0n, again: 128n })
  await db.query(`
    insert into orders (
      id, flow_id, surface, good, rail, status, funds, request_digest, input, payer, amount, asset, network, pay_to, proof_digest,
      expires_at, payment_tx, settled_at, history)
    values ('ord_1', 'flow', 'sale', 'saleLot', 'mpp', 'confirmed', 'captured', 'digest', '{}', '0xpayer', 1000,
            '${ASSET}', '${NETWORK}', '${PAY_TO}', 'proof', now(), '0xpaid', now(), '[]');
    insert into missing_settlements (order_id, till, state, detail)
    values ('ord_1', '${TILL}', 'lost', 'A test.');
    insert into arrivals (id, till, transaction, log_index, block_number, sender, amount, state, order_id)
    values ('arr_1', '${TILL}', '0xpaid', 0, 100, '0xpayer', 1000, 'matched', 'ord_1');
    insert into sends (order_id, step, chain_id, signer, nonce, call, versions, landed_hash, landed_block, landed_block_hash)
    values ('ord_1', 'mint', 1, '0xminter', 0, '{}', '[]', '0xmint', 90, '0xgone')`)
  return { db, other: await store.replica() }
}

for (const [order, first, second] of [
  ['before', rest, crossOff],
  ['after', crossOff, rest],
] as const)
  test(`E55: what is laid to rest just ${order} its payment is crossed off is watched`, async (t) => {
    const { db, other } = await openBooks(t)
    const isWaiting = async () => {
      const { rows } = await other.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      )
      return rows.length > 0
    }
    const { late } = await db.transaction(async (tx) => {
      await first(tx)
      const late = second(other)
      await until(isWaiting)
      return { late }
    })
    await late
    const { rows } = await db.query('select s.buried, m.state from sends s join missing_settlements m using (order_id)')
    assert.deepEqual(rows, [{ buried: false, state: 'landed' }])
  })
