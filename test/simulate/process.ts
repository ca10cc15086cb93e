import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { type Chance, chanceOf } from './chance.ts'
import { countImmediates } from './immediates.ts'
import { START_MS } from './scheduler.ts'

const RealDate = Date
/** Worlds are founded before a universe begins. Their blocks are younger than the hour after which finality counts as stuck. */
export const FOUNDING_MS = START_MS - 1_800_000

let nowMs = () => FOUNDING_MS
let chance: Chance = chanceOf(0, 'founding')

/**
 * Libraries and the embedded engine read the process clock and the system's randomness behind our back: from here on both are the
 * universe's. Call it before anything is opened: whoever remembers the real time sets timers by it.
 */
export function takeOverProcess(): void {
  class VirtualDate extends RealDate {
    constructor(...values: unknown[]) {
      // @ts-expect-error: the overloads of its own constructor.
      super(...(values.length === 0 ? [nowMs()] : values))
    }
    static override now(): number {
      return nowMs()
    }
  }
  countImmediates()
  globalThis.Date = VirtualDate as unknown as DateConstructor
  Math.random = () => chance.below(2 ** 32) / 2 ** 32
  const fill = <View extends ArrayBufferView>(view: View): View => {
    new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(chance.bytes(view.byteLength))
    return view
  }
  globalThis.crypto.getRandomValues = fill as typeof globalThis.crypto.getRandomValues
  crypto.randomFillSync = fill as typeof crypto.randomFillSync
  crypto.randomBytes = ((length: number) => Buffer.from(chance.bytes(length))) as typeof crypto.randomBytes
  // Replicas tell how large they are, and nobody listens: asking the system each time was a hundredth of a universe.
  const memory = process.memoryUsage()
  process.memoryUsage = Object.assign(() => memory, { rss: () => memory.rss })
  syncBuiltinESMExports()
}

/** From here on the process is in this universe. */
export function enterUniverse(now: () => number, random: Chance): void {
  nowMs = now
  chance = random
}
