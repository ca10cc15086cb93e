import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { RateCounter, RateReport } from './rate-counter.ts'

/** Where replicas put their counts together. */
export type SharedCounts = {
  add(reports: readonly RateReport[]): Promise<readonly RateReport[]>
  /** Drops what is over. */
  forget(): Promise<void>
}

type Sharing = {
  /** There is something to report. Returns at once: no request ever waits for the store to be counted. */
  wake(): void
  stop(): Promise<void>
}

/** Reports pile up while one is on its way, so a flood costs a few statements a second and not one for each call. */
const PAUSE_MS = 5
const PAUSE_MS_AFTER_FAULT = 1_000
const FORGET_EVERY_MS = 60_000

/** While the store is away each replica limits by its own count: less exact, never open. */
export function createSharing(
  counters: () => readonly RateCounter[],
  shared: SharedCounts,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Sharing {
  const stopping = new AbortController()
  let running: Promise<void> | null = null
  let forgottenAt = clock.now()

  async function report(): Promise<boolean> {
    const reports = counters().flatMap((counter) => counter.unreported().map((hits) => ({ counter, hits })))
    if (reports.length === 0) return false
    const totals = new Map((await shared.add(reports.map(({ hits }) => hits))).map((total) => [keyOf(total), total]))
    for (const { counter, hits } of reports) {
      const total = totals.get(keyOf(hits))
      if (total) counter.learn(total, hits.hits)
    }
    if (clock.now() - forgottenAt < FORGET_EVERY_MS) return true
    forgottenAt = clock.now()
    await shared.forget()
    return true
  }

  async function run(): Promise<void> {
    let hasMore = true
    while (hasMore && !stopping.signal.aborted) {
      try {
        hasMore = await report()
        if (hasMore) await clock.sleep(PAUSE_MS, stopping.signal)
      } catch (error) {
        log.warn('rate limits are per replica for now: counts could not be shared', { error })
        await clock.sleep(PAUSE_MS_AFTER_FAULT, stopping.signal)
      }
    }
  }

  return {
    wake() {
      if (running || stopping.signal.aborted) return
      running = Promise.resolve()
        .then(run)
        .finally(() => {
          running = null
        })
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

function keyOf({ name, window }: RateReport): string {
  return `${window} ${name}`
}
