import { claim, enqueue, forget, type Job, release } from '../store/jobs.ts'
import { forgetAbandonedLeases, renewingLease } from './exclusive-lease.ts'
import { reconcileTill } from './reconcile.ts'
import { RECONCILE, type ReconcileContext } from './reconcile-context.ts'

export type Reconciler = { stop(): Promise<void> }

const LEASE_SECONDS = 120
const POLL_MS_MAX = 5_000

/** Compares the books with the chain, till by till, every so often; one replica at a time. */
export function startReconciler(context: ReconcileContext, everySeconds: number): Reconciler {
  const { db, tills, clock, log } = context
  const stopping = new AbortController()

  /** A till that fails must not keep the others from being reconciled. */
  async function work(job: Job): Promise<void> {
    const till = tills.find(({ id }) => id === job.key)
    // A replica that has this till enqueues it again, and does not wait for replicas that have not.
    if (!till) return void (await forget(db, job))
    try {
      const report = await renewingLease(context, job, LEASE_SECONDS, () => reconcileTill(context, till, job))
      if (report.items.length > 0)
        log.warn('reconciliation found differences', {
          till: report.till,
          difference: report.difference,
          items: report.items.length,
        })
    } catch (error) {
      log.warn('reconciliation failed', { till: job.key, error })
    }
    await release(db, job, everySeconds)
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(Math.min(POLL_MS_MAX, everySeconds * 1000), stopping.signal)
      if (stopping.signal.aborted) return
      try {
        for (const { id } of tills) await enqueue(db, { kind: RECONCILE, key: id })
        for (const job of await claim(db, { kinds: [RECONCILE], limit: tills.length, leaseSeconds: LEASE_SECONDS }))
          await work(job)
        await forgetAbandonedLeases(db)
      } catch (error) {
        log.warn('reconciliation could not begin', { error })
      }
    }
  }

  const looping = loop()
  return {
    async stop() {
      stopping.abort()
      await looping
    },
  }
}
