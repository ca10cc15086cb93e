import { newId } from '../base/id.ts'
import type { Lease } from '../domain/lease.ts'
import type { Queryable } from '../store/db.ts'
import { claim, enqueueLeased, extend, forget } from '../store/jobs.ts'
import type { ReconcileContext } from './reconcile-context.ts'

const KIND = 'arrival'
const LEASE_SECONDS = 120
const ABANDONED_MAX = 100

/** Runs work that has no job, such as a command: it gets a lease of its own for as long as it takes. */
export async function withLease<Result>(
  context: ReconcileContext,
  work: (lease: Lease) => Promise<Result>,
): Promise<Result> {
  const key = newId('job', context.random)
  const done = await withExclusiveLease(context, key, work)
  if (!done) throw new TypeError(`job ${key} exists already`)
  return done.result
}

/** The same under a shared key, so that one process at a time does this work. Null: another one is doing it. */
export async function withExclusiveLease<Result>(
  context: ReconcileContext,
  key: string,
  work: (lease: Lease) => Promise<Result>,
): Promise<{ readonly result: Result } | null> {
  const lease = await enqueueLeased(context.db, { kind: KIND, key, leaseSeconds: LEASE_SECONDS })
  if (!lease) return null
  try {
    return { result: await renewingLease(context, lease, LEASE_SECONDS, () => work(lease)) }
  } finally {
    await forget(context.db, lease).catch((error: unknown) =>
      context.log.warn('lease could not be released', { key, error }),
    )
  }
}

/** Renews a lease while the work under it runs. A process that loses it all the same can sign nothing more. */
export async function renewingLease<Result>(
  { db, clock, log }: Pick<ReconcileContext, 'db' | 'clock' | 'log'>,
  lease: Lease,
  leaseSeconds: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const done = new AbortController()
  async function beat(): Promise<void> {
    while (!done.signal.aborted) {
      await clock.sleep((leaseSeconds * 1000) / 3, done.signal)
      if (done.signal.aborted) return
      await extend(db, lease, leaseSeconds).catch((error: unknown) =>
        log.warn('lease could not be renewed', { kind: lease.kind, key: lease.key, error }),
      )
    }
  }
  const heartbeat = beat()
  try {
    return await work()
  } finally {
    done.abort()
    await heartbeat
  }
}

/** Deletes the leases of processes that died in the middle: such work is not taken up by others, and need not be. */
export async function forgetAbandonedLeases(db: Queryable): Promise<void> {
  for (const job of await claim(db, { kinds: [KIND], limit: ABANDONED_MAX, leaseSeconds: LEASE_SECONDS }))
    await forget(db, job)
}
