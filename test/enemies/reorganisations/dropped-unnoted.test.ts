import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reconcile } from '../../../src/checkout/reconcile.ts'
import type { Database } from '../../../src/store/db.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { buy, reconcileRail } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { drop } from '../support/stepped-shop.ts'

/** The process ends before it writes this down. */
function endingAt(db: Database, words: RegExp): Database {
  const query = ((statement: { text: string } | string, values: readonly unknown[]) => {
    const text = typeof statement === 'string' ? statement : statement.text
    if (words.test(text)) throw new Error('the process ends here')
    return (db.query as (...args: unknown[]) => unknown)(statement, values)
  }) as Database['query']
  const transaction: Database['transaction'] = (work) =>
    db.transaction((tx) => work({ ...tx, query: endingAt(tx as unknown as Database, words).query } as typeof tx))
  return { ...db, query, transaction } as Database
}

test('E80: a payment that the chain drops once more, as the process ends, is missing all the same', async (t) => {
  const rail = mppPullUnderTest
  const meddler = createMeddler()
  const shop = await startShop({ withoutWorker: true, wrapTransport: meddler.wrap })
  t.after(() => shop.stop())
  const kindsOf = async () => (await reconcileRail(shop, rail)).items.map(({ kind }) => kind)
  await kindsOf()
  const { body } = await buy(shop, rail, await fundedWallet(shop))
  assert.deepEqual(await kindsOf(), [])
  const mends = [meddler.meddle('eth_getLogs', () => []), meddler.meddle('eth_getTransactionReceipt', () => null)]
  assert.deepEqual(await kindsOf(), ['missing'])
  for (const mend of mends) mend()
  assert.deepEqual(await kindsOf(), [])
  await drop(shop.chains.tempo, body.paymentTx)
  const { reconcileContext } = shop.service.operations
  const tills = reconcileContext.tills.filter((till) => till.rail.name === rail.rail)
  const db = endingAt(reconcileContext.db, /insert into missing_settlements[\s\S]*unnest/)
  await assert.rejects(reconcile({ ...reconcileContext, db, tills }), /the process ends here/)
  assert.deepEqual(await kindsOf(), ['missing'])
})
