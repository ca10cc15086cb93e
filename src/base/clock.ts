/** The only source of time. Tests hand in their own and move it by hand. */
export type Clock = {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after `ms`, or as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
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
  /** Asks for the other clock's time, and by how much this one was off goes into `now()`. Returns that, in milliseconds. */
  sync(readMs: () => Promise<number>): Promise<number>
}

/** Less is the way there and back; time should not jump for it. */
const OFFSET_MS_MIN = 1_000

export function syncedClock(clock: Clock): SyncedClock {
  let offsetMs = 0
  return {
    now: () => clock.now() + offsetMs,
    sleep: clock.sleep,
    async sync(readMs) {
      const asked = clock.now()
      const there = await readMs()
      const measured = there - (asked + clock.now()) / 2
      if (Math.abs(measured - offsetMs) >= OFFSET_MS_MIN) offsetMs = measured
      return offsetMs
    },
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
