import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Database } from '../store/db.ts'
import { claim, enqueue, release } from '../store/jobs.ts'
import { deleteIdleExposures, deleteStep, type Retained, retained } from '../store/retention.ts'

type JanitorParts = {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  /** How long finished work is kept. */
  readonly keepMs: number
  onDeleted(what: Retained, count: number): void
}

export type Janitor = {
  /** Deletes all that is due now. */
  sweep(stop?: AbortSignal): Promise<void>
  start(): void
  stop(): Promise<void>
}

const KIND = 'retention'
const EVERY_SECONDS = 60
const LEASE_SECONDS = 300
const PAUSE_MS = 50
/** Steps of one kind in one round: 20,000 rows a minute, which is more than a shop can write. */
const STEPS_MAX = 1_000
/** Nothing moved by an order that was never paid, and strangers can make many of them. */
const UNPAID_MS = 6 * 3_600_000

/** Deletes what is old, in small steps, on one replica at a time. */
export function createJanitor({ database, clock, log, keepMs, onDeleted }: JanitorParts): Janitor {
  const stopping = new AbortController()
  let looping: Promise<void> | undefined

  async function sweepOne(what: Retained, before: number, stop: AbortSignal): Promise<void> {
    for (let step = 0; step < STEPS_MAX && !stop.aborted; step++) {
      const count = await deleteStep(database, what, before)
      if (count === 0) return
      onDeleted(what, count)
      await clock.sleep(PAUSE_MS, stop)
    }
  }

  async function sweep(stop = stopping.signal): Promise<void> {
    const now = clock.now()
    for (const what of retained) await sweepOne(what, now - (what === 'unpaid' ? UNPAID_MS : keepMs), stop)
    await deleteIdleExposures(database)
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(EVERY_SECONDS * 1000, stopping.signal)
      if (stopping.signal.aborted) return
      try {
        await enqueue(database, { kind: KIND, key: KIND })
        for (const job of await claim(database, { kinds: [KIND], limit: 1, leaseSeconds: LEASE_SECONDS })) {
          await sweep()
          await release(database, job, EVERY_SECONDS)
        }
      } catch (error) {
        log.warn('old rows could not be deleted', { error })
      }
    }
  }

  return {
    sweep,
    start() {
      looping = loop()
    },
    async stop() {
      stopping.abort()
      await looping
    },
  }
}
