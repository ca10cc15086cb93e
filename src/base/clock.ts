/** The only source of time. Tests hand in their own and move it by hand. */
export type Clock = {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after `ms`, or as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/**
 * How long ago that was. A moment that is still to come was noted before the clock was put back, by minutes perhaps: what was noted then may be as old as
 * any, and must not count as new until the clock has come so far again.
 */
export function msSince(clock: Clock, moment: number): number {
  const ms = clock.now() - moment
  return ms < 0 ? Number.POSITIVE_INFINITY : ms
}

/** How many milliseconds are left; none or less: the time is over. */
export type Countdown = () => number

/**
 * Counts down from now on. It counts only how far the clock moves forward: when the clock is put back, by minutes perhaps, nobody waits these minutes on
 * top.
 */
export function countdown(clock: Clock, ms: number): Countdown {
  let left = ms
  let seen = clock.now()
  return () => {
    const now = clock.now()
    left -= Math.max(0, now - seen)
    seen = now
    return left
  }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const timer = setTimeout(done, ms)
      function done() {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      signal?.addEventListener('abort', done)
    }),
}

/** A clock that can be set by another one. Replicas set theirs by their common store: a machine whose time is off decides as the others do. */
export type SyncedClock = Clock & {
  /**
   * Asks for the other clock's time, and by how much this one was off goes into `now()`. Returns that, in milliseconds; null when the
   * answers were too slow or too different to learn anything from, and nothing was changed.
   */
  sync(readMs: () => Promise<number>): Promise<number | null>
}

/** Less is the way there and back; time should not jump for it. Answers that differ by less agree. */
const OFFSET_MS_MIN = 1_000
/** An answer that took longer may have been made at any moment of it: it says nothing. */
const TRIP_MS_MAX = 2_000
const SAMPLES_MAX = 5

type Sample = { readonly offsetMs: number; readonly tripMs: number }

export function syncedClock(clock: Clock): SyncedClock {
  let offsetMs = 0

  async function sample(readMs: () => Promise<number>): Promise<Sample> {
    const asked = clock.now()
    const there = await readMs()
    const answered = clock.now()
    return { offsetMs: there - (asked + answered) / 2, tripMs: answered - asked }
  }

  return {
    now: () => clock.now() + offsetMs,
    sleep: clock.sleep,
    async sync(readMs) {
      let doubted: Sample | null = null
      for (let asked = 0; asked < SAMPLES_MAX; asked++) {
        const fresh = await sample(readMs)
        // Less than nothing: our own clock was put back meanwhile.
        if (fresh.tripMs > TRIP_MS_MAX || fresh.tripMs < 0) continue
        if (agree(fresh, { offsetMs })) return offsetMs
        if (doubted && agree(fresh, doubted)) {
          offsetMs = fresh.tripMs <= doubted.tripMs ? fresh.offsetMs : doubted.offsetMs
          return offsetMs
        }
        doubted = fresh
      }
      return null
    },
  }
}

function agree(one: Pick<Sample, 'offsetMs'>, other: Pick<Sample, 'offsetMs'>): boolean {
  return Math.abs(one.offsetMs - other.offsetMs) < OFFSET_MS_MIN
}

/** The result, if it comes in time; else null, and the work goes on. */
export async function withinTime<Result>(clock: Clock, ms: number, work: Promise<Result>): Promise<Result | null> {
  const timer = new AbortController()
  const timeUp = clock.sleep(ms, timer.signal).then(() => null)
  try {
    return await Promise.race([work, timeUp])
  } finally {
    timer.abort()
  }
}

let lastSecond = Number.NaN
let lastPrinted = ''

/** `2026-01-31T12:00:00.000Z`. Remembers the last second, of which a busy shop prints hundreds of times. */
export function isoTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== lastSecond) {
    lastPrinted = new Date(second * 1000).toISOString().slice(0, -4)
    lastSecond = second
  }
  return `${lastPrinted}${String(Math.floor(ms) - second * 1000).padStart(3, '0')}Z`
}
