import type { Log } from '../base/log.ts'
import { type ChainConfig, confirmationsFor } from '../config/config.ts'
import type { Rail } from '../domain/rail.ts'
import type { ChainAccess } from '../outbox/access.ts'
import type { RailAccount, RailParts } from '../rails/kind.ts'
import type { Database } from '../store/db.ts'
import { listTerms, recordTerms, type ShopTerms } from '../store/shop-terms.ts'

/** A rail, and what else is to be known about where it is paid. */
export type OpenRail = {
  readonly rail: Rail
  /** False: it finishes, tells and sends back what it sold, and sells nothing more. */
  readonly isSelling: boolean
  readonly chain: ChainAccess
  readonly confirmations: (amount: bigint) => number
  readonly sinceBlock: bigint | null
}

/** All rails that orders may be on: those that sell, and those that did. */
export function openRails(
  accounts: readonly RailAccount[],
  chainOf: (chain: ChainConfig) => ChainAccess,
  parts: RailParts,
): readonly OpenRail[] {
  return accounts.map(({ chain: where, isSelling, confirmations, sinceBlock, open }) => {
    const chain = chainOf(where)
    return { rail: open(chain, parts), isSelling, chain, confirmations: confirmationsFor(confirmations), sinceBlock }
  })
}

/** Before anybody is let in: to load a protocol's library stops everything else in the process for a second or more. */
export async function warmUp(rails: readonly OpenRail[], log: Log): Promise<void> {
  for (const { rail } of rails)
    await rail.warmUp?.().catch((error: unknown) => log.error('a rail could not be loaded', { rail: rail.name, error }))
}

export function sellingRails(rails: readonly OpenRail[]): readonly Rail[] {
  return rails.flatMap(({ rail, isSelling }) => (isSelling ? [rail] : []))
}

/** What this shop has asked for, now and by earlier configurations. What it asks for now is recorded last, as the newest. */
export async function recordedTerms(
  database: Database,
  accounts: readonly RailAccount[],
): Promise<readonly ShopTerms[]> {
  const oldestFirst = accounts.toSorted((a, b) => Number(a.isSelling) - Number(b.isSelling))
  for (const account of oldestFirst) await recordTerms(database, account)
  return listTerms(database)
}
