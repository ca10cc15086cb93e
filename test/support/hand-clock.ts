import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../src/base/clock.ts'

/** Time that only a test moves, and that stops at every moment for which somebody sleeps. So what happens between two moments can be counted. */
export type HandClock = Clock & {
  /** Moves on by `ms`; at each moment all that wakes up comes to rest before the next. */
  pass(ms: number): Promise<void>
  /** As long as this lasts, nothing is at rest. */
  working<Result>(work: () => Promise<Result>): Promise<Result>
}

/** A question and its answer within this process are over after a few of them. */
const TURNS = 10

export function handClock(startMs: number): HandClock {
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>()
  let now = startMs
  let busy = 0

  async function rest(): Promise<void> {
    do for (let turn = 0; turn < TURNS; turn++) await setImmediate()
    while (busy > 0)
  }

  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const sleeper = { at: now + ms, wake }
        function wake() {
          sleepers.delete(sleeper)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', wake)
      }),
    async pass(ms) {
      const end = now + ms
      await rest()
      for (;;) {
        const next = Math.min(...[...sleepers].map(({ at }) => at))
        if (next > end) break
        now = Math.max(now, next)
        for (const { at, wake } of [...sleepers]) if (at <= now) wake()
        await rest()
      }
      now = end
    },
    async working(work) {
      busy++
      try {
        return await work()
      } finally {
        busy--
      }
    },
  }
}
