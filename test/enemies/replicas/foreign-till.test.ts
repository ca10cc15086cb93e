import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { startReconciler } from '../../../src/ledger/reconciler.ts'
import { startShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'

// Replicas need not have the same tills. The jobs of all of them are in one table.

test('E30: a replica that has not got a till does not keep its books from being kept by those that have', async (t) => {
  const shop = await startShop({ withoutWorker: true })
  t.after(() => shop.stop())
  const { reconcileContext } = shop.service.operations
  const sleep: typeof systemClock.sleep = (ms, signal) => systemClock.sleep(Math.min(ms, 50), signal)
  const clock = { ...systemClock, sleep }
  const { db } = shop.store
  const tillsOf = (rail: string) => reconcileContext.tills.filter((till) => till.rail.name === rail)
  const [id] = tillsOf('mpp').map((till) => till.id)
  const looks = async (key: string | undefined) =>
    (await db.query('select from tills where id = $1 and reported_at is not null', [key])).rows.length
  await db.query(`delete from jobs where kind = 'reconcile'`)
  await db.query('update tills set reported_at = null')
  await db.query(`insert into jobs (kind, key, run_at) values ('reconcile', $1, now() - interval '1 minute')`, [id])
  const other = startReconciler({ ...reconcileContext, clock, tills: tillsOf('x402') }, 3_600)
  await until(async () => (await looks(tillsOf('x402')[0]!.id)) === 1)
  await until(async () => {
    const due = `select from jobs where kind = 'reconcile' and key = $1 and run_at < now() - interval '50 seconds'`
    return (await db.query(due, [id])).rows.length === 0
  })
  await other.stop()
  const own = startReconciler({ ...reconcileContext, clock, tills: tillsOf('mpp') }, 3_600)
  await until(async () => (await looks(id)) === 1)
  await own.stop()
})
