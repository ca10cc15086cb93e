import { type Clock, systemClock } from '../../src/base/clock.ts'

/** Moves on only by leaps, so that no window in which calls are counted ends between two of them. Sleeps take their time all the same. */
export function leapingClock(): Clock & { leap(ms: number): void } {
  let now = systemClock.now()
  return {
    ...systemClock,
    now: () => now,
    leap(ms) {
      now += ms
    },
  }
}
