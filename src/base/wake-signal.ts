import type { Clock } from './clock.ts'

/** Lets a loop sleep until its time has come or somebody rings: work that is here already need not wait for the next look. */
export type WakeSignal = { ring(): void; wait(ms: number, stop: AbortSignal): Promise<void> }

export function createWakeSignal(clock: Clock): WakeSignal {
  let ringing = new AbortController()
  return {
    ring() {
      ringing.abort()
    },
    async wait(ms, stop) {
      await clock.sleep(ms, AbortSignal.any([ringing.signal, stop]))
      // A ring between two waits is not lost: it ends the next one at once.
      if (ringing.signal.aborted) ringing = new AbortController()
    },
  }
}
