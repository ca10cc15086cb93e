import type { OperatorRoute } from '../api/operator/route.ts'
import { salesRows } from '../api/operator/sales-rows.ts'
import { blockPayer, listBlocked, pauseSales, readPauses, resumeSales, unblockPayer } from '../store/restrictions.ts'
import type { DeskParts } from './desk-parts.ts'

/** What operators may forbid. */
export function rulesDeskRows({ config, database, clock, accounts }: DeskParts): readonly OperatorRoute[] {
  return salesRows({
    now: clock.now,
    rails: [...new Set(accounts.filter(({ isSelling }) => isSelling).map(({ rail }) => rail))],
    pauses: () => readPauses(database),
    pause: (doer, wish) => pauseSales(database, doer, wish),
    resume: (doer, rail) => resumeSales(database, doer, rail),
    configured: [...config.blockedPayers],
    blocked: (after, limit) => listBlocked(database, after, limit),
    block: (doer, wish) => blockPayer(database, doer, wish),
    unblock: (doer, address) => unblockPayer(database, doer, address),
  })
}
