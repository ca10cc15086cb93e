import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { RetentionConfig } from '../config/config.ts'
import { cutoffOf, type RetainedThing, retainedThings } from '../domain/retention.ts'
import type { Database } from '../store/db.ts'
import { forgetFunnel } from '../store/funnel.ts'
import { claim, enqueue, release } from '../store/jobs.ts'
import { forgetHours } from '../store/orders/sums.ts'
import { readExported } from '../store/retention/export.ts'
import { letGoOf, tidyUp } from '../store/retention/step.ts'
import { forgetWalletUse } from '../store/wallets.ts'

type JanitorParts = {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  readonly retention: RetentionConfig
  /** So many of a kind are gone. */
  onGone(thing: RetainedThing, count: number): void
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
/** No chart by the hour goes back further; days are kept for ever. */
const HOURS_MS = 62 * 86_400_000
const FOR_EVER_MS = 90 * 86_400_000

/** Deletes what was kept long enough, in small steps, on one replica at a time. */
export function createJanitor({ database, clock, log, retention, onGone }: JanitorParts): Janitor {
  const { keep, onlyExported } = retention
  const stopping = new AbortController()
  let looping: Promise<void> | undefined

  async function sweepOne(thing: RetainedThing, before: number, stop: AbortSignal): Promise<void> {
    for (let step = 0; step < STEPS_MAX && !stop.aborted; step++) {
      const gone = await letGoOf(database, thing, before)
      if (gone > 0) onGone(thing, gone)
      if (gone === 0) return
      await clock.sleep(PAUSE_MS, stop)
    }
  }

  async function sweep(stop = stopping.signal): Promise<void> {
    const exported = onlyExported ? await readExported(database) : 'not asked'
    const now = clock.now()
    for (const thing of retainedThings) {
      const before = cutoffOf(keep[thing], now, exported)
      if (before !== null) await sweepOne(thing, before, stop)
    }
    await tidyUp(database, now - (keep.events ?? FOR_EVER_MS))
    await forgetHours(database, now - HOURS_MS)
    await forgetFunnel(database, now - HOURS_MS)
    await forgetWalletUse(database, now - HOURS_MS)
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
