import { claim, enqueue, type Job, release } from '../store/jobs.ts'
import type { Books } from './books.ts'
import { forgetAbandoned, whileHeld } from './held.ts'
import { reconcileTill } from './reconcile.ts'

export type Reconciler = { stop(): Promise<void> }

const KIND = 'reconcile'
const LEASE_SECONDS = 120
const POLL_MS_MAX = 5_000
/** One job per till, for ever. */
const ATTEMPTS_MAX = 2_147_483_647

/** Holds the books against the chain, till by till, every so often; one replica at a time. */
export function startReconciler(books: Books, everySeconds: number): Reconciler {
  const { db, tills, clock, log } = books
  const stopping = new AbortController()

  async function work(job: Job): Promise<void> {
    const till = tills.find(({ id }) => id === job.key)
    // A till of an earlier configuration is left to itself.
    if (till) {
      const { difference, items } = await whileHeld(books, job, LEASE_SECONDS, () => reconcileTill(books, till, job))
      if (items.length > 0)
        log.warn('the books differ from the chain', { till: till.id, difference, items: items.length })
    }
    await release(db, job, everySeconds)
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(Math.min(POLL_MS_MAX, everySeconds * 1000), stopping.signal)
      if (stopping.signal.aborted) return
      try {
        for (const { id } of tills) await enqueue(db, { kind: KIND, key: id, maxAttempts: ATTEMPTS_MAX })
        for (const job of await claim(db, { kinds: [KIND], limit: tills.length, leaseSeconds: LEASE_SECONDS }))
          await work(job)
        await forgetAbandoned(db)
      } catch (error) {
        log.warn('the books could not be held against the chain', { error })
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
