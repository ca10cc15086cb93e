import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { Problem } from '../base/problem.ts'

/** Payers whose payments pass every check and then fail on the chain cost us gas; after a few such, they wait. */
export type Strikes = { assertWelcome(payer: Address): void; count(payer: Address): void }

const STRIKES_MAX = 3
const WINDOW_MS = 10 * 60_000
const PAYERS_MAX = 10_000

export function createStrikes(clock: Clock): Strikes {
  const byPayer = new Map<string, { strikes: number; until: number }>()
  return {
    assertWelcome(payer) {
      const entry = byPayer.get(payer.toLowerCase())
      if (!entry || entry.strikes < STRIKES_MAX || clock.now() >= entry.until) return
      const afterSeconds = Math.ceil((entry.until - clock.now()) / 1000)
      throw new Problem(
        'payer_throttled',
        'Several payments of this wallet failed on the chain; nothing is taken from it for a while.',
        { afterSeconds },
      )
    },
    count(payer) {
      const key = payer.toLowerCase()
      const entry = byPayer.get(key)
      const strikes = entry && clock.now() < entry.until ? entry.strikes + 1 : 1
      // The oldest goes first: a map keeps the order in which keys came.
      byPayer.delete(key)
      byPayer.set(key, { strikes, until: clock.now() + WINDOW_MS })
      if (byPayer.size > PAYERS_MAX) byPayer.delete(byPayer.keys().next().value!)
    },
  }
}
