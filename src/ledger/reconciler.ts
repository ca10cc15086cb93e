import { claim, enqueue, forget, type Job, release } from '../store/jobs.ts'
import { forgetAbandonedLeases, renewingLease } from './exclusive-lease.ts'
import { reconcileAccount } from './reconcile.ts'
import { RECONCILE, type ReconcileContext } from './reconcile-context.ts'

export type Reconciler = { stop(): Promise<void> }

const LEASE_SECONDS = 120
const POLL_MS_MAX = 5_000

/** Compares the books with the chain, account by account, every so often; one replica at a time. */
export function startReconciler(context: ReconcileContext, everySeconds: number): Reconciler {
  const { db, accounts, clock, log } = context
  const stopping = new AbortController()

  /** An account that fails must not keep the others from being reconciled. */
  async function work(job: Job): Promise<void> {
    const account = accounts.find(({ id }) => id === job.key)
    // A replica that has this account enqueues it again, and does not wait for replicas that have not.
    if (!account) return void (await forget(db, job))
    try {
      const report = await renewingLease(context, job, LEASE_SECONDS, () => reconcileAccount(context, account, job))
      if (report.items.length > 0)
        log.warn('reconciliation found differences', {
          account: report.account,
          difference: report.difference,
          items: report.items.length,
        })
    } catch (error) {
      log.warn('reconciliation failed', { account: job.key, error })
    }
    await release(db, job, everySeconds)
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(Math.min(POLL_MS_MAX, everySeconds * 1000), stopping.signal)
      if (stopping.signal.aborted) return
      try {
        for (const { id } of accounts) await enqueue(db, { kind: RECONCILE, key: id })
        for (const job of await claim(db, { kinds: [RECONCILE], limit: accounts.length, leaseSeconds: LEASE_SECONDS }))
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
