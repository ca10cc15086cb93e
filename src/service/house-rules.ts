import type { Address } from '../base/address.ts'
import { cachedValue } from '../base/cached-read.ts'
import { type Clock, isoTime } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import { whenThere } from '../base/when-there.ts'
import type { RailName } from '../domain/rail.ts'
import type { Database } from '../store/db.ts'
import {
  isPayerBlocked,
  NO_RESTRICTIONS,
  readPauses,
  readRestrictions,
  type SalesPause,
} from '../store/restrictions.ts'
import type { PayerProblem } from '../surfaces/surface.ts'

/** What is not sold because somebody who runs the shop said so. The statement that opens an order has the last word. */
export type HouseRules = {
  /** Throws where sales on this rail are paused, as far as was read within two seconds. */
  assertUnpaused(rail: RailName): void | Promise<void>
  pauses(): Promise<readonly SalesPause[]>
  /** What speaks against a payer, as far as was read within two seconds. */
  payerProblem(payer: Address): PayerProblem
  /** Read now. */
  isBlocked(payer: Address): Promise<boolean>
  /** By the configuration. */
  isNeverServed(payer: Address): boolean
}

type RuleParts = {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  /** Those of the configuration, lower case. */
  readonly configured: ReadonlySet<string>
}

const CACHE_MS = 2_000
/** Whoever is told to come back and was told no time comes back after so long. */
const AGAIN_SECONDS = 60

export function createHouseRules({ database, clock, log, configured }: RuleParts): HouseRules {
  const recent = lastKnown(clock, log, NO_RESTRICTIONS, (known) => readRestrictions(database, known))
  const refused = () => new Problem('payer_blocked', 'This payer is not served here; nothing was taken.')
  const isNeverServed = (payer: Address) => configured.has(payer.toLowerCase())
  return {
    assertUnpaused: (rail) =>
      whenThere(recent(), ({ pauses }) => {
        const pause = pauses.find((one) => one.rail === rail)
        if (pause && (pause.until === null || pause.until > clock.now())) throw pausedProblem(pause, clock.now())
      }),
    pauses: () => readPauses(database),
    payerProblem: (payer) =>
      isNeverServed(payer)
        ? refused()
        : whenThere(recent(), ({ blocked }) => (blocked.has(payer.toLowerCase()) ? refused() : null)),
    isBlocked: async (payer) => isNeverServed(payer) || isPayerBlocked(database, payer),
    isNeverServed,
  }
}

/** A store that is silent for a moment changes no rule: what was read last holds, and no order is opened without the store. */
function lastKnown<Value>(
  clock: Clock,
  log: Log,
  first: Value,
  read: (known: Value) => Promise<Value>,
): () => Value | Promise<Value> {
  let known = first
  return cachedValue(clock, CACHE_MS, async () => {
    try {
      known = await read(known)
    } catch (error) {
      log.warn('pauses and blocks could not be read; using the last known', { error })
    }
    return known
  })
}

function pausedProblem({ since, until }: SalesPause, now: number): Problem {
  const end = until === null ? 'until further notice' : `until ${isoTime(until)}`
  return new Problem(
    'surface_closed',
    `Sales by this protocol are paused since ${isoTime(since)}, ${end}; nothing was taken.`,
    { afterSeconds: until === null ? AGAIN_SECONDS : Math.max(1, Math.ceil((until - now) / 1000)) },
  )
}
