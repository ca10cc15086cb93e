import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'

const realSetImmediate = globalThis.setImmediate
let waiting = 0

/** How many others wait for the next turn of the event loop. Known once the process has been taken over. */
export const immediatesWaiting = (): number => waiting

/** So many are asked for at once: between any two of them all promises and ticks are done, and the system is asked for news once for all. */
const TURNS = 16
let turnsLeft = 0
let waiters: (() => void)[] = []

function takeTurn(): void {
  turnsLeft--
  const turned = waiters
  waiters = []
  for (const resume of turned) resume()
}

/** One turn of the event loop: whatever was promised, and whatever the next tick brings, is done. */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    waiters.push(resolve)
    if (turnsLeft > 0) return
    for (; turnsLeft < TURNS; turnsLeft++) realSetImmediate(takeTurn)
  })

/** A step is over when nobody waits for an immediate any more; who does so is counted instead of waiting longer for everybody. */
export function countImmediates(): void {
  const counted = (run: (...args: unknown[]) => void, ...args: unknown[]) => {
    waiting++
    return realSetImmediate(() => {
      waiting--
      run(...args)
    })
  }
  globalThis.setImmediate = counted as unknown as typeof setImmediate
  timers.setImmediate = counted as unknown as typeof setImmediate
  syncBuiltinESMExports()
}
