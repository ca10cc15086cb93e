import type { Lease } from '../../src/domain/lease.ts'
import type { Queryable } from '../../src/store/db.ts'
import { enqueueLeased } from '../../src/store/jobs.ts'

const SECONDS = 600

/** The right to work on an order that exists in this test only. */
export async function leaseOn(db: Queryable, orderId: string): Promise<Lease> {
  const lease = await enqueueLeased(db, { kind: 'order', key: orderId, leaseSeconds: SECONDS })
  if (!lease) throw new Error(`somebody works on ${orderId} already`)
  return lease
}

/** As another process does when the lease has run out. */
export async function takeOver(db: Queryable, { kind, key }: Lease): Promise<Lease> {
  await db.query('update jobs set run_at = now() where kind = $1 and key = $2', [kind, key])
  return leaseOn(db, key)
}
