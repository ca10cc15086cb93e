import type { Clock } from './clock.ts'

/** Lets a loop sleep until its time has come or somebody rings: work that is here already need not wait for the next look. */
export type WakeSignal = { ring(): void; wait(ms: number, stop: AbortSignal): Promise<void> }

/** A reason of its own: without one an error is made, with its stack, and thrown away. */
const RUNG = 'rung'

export function createWakeSignal(clock: Clock): WakeSignal {
  let isRung = false
  let wake = () => {}
  return {
    ring() {
      isRung = true
      wake()
    },
    async wait(ms, stop) {
      // A ring between two waits is not lost: it ends the next one at once.
      if (!isRung && !stop.aborted) {
        const waiting = new AbortController()
        wake = () => waiting.abort(RUNG)
        stop.addEventListener('abort', wake)
        await clock.sleep(ms, waiting.signal)
        stop.removeEventListener('abort', wake)
      }
      isRung = false
    },
  }
}
