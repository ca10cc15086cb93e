import { funnelRows } from '../api/operator/funnel-rows.ts'
import { moneyRows } from '../api/operator/money-rows.ts'
import type { OperatorRoute } from '../api/operator/route.ts'
import { type SumDesk, summaryRows } from '../api/operator/summary-rows.ts'
import { walletRows } from '../api/operator/wallet-rows.ts'
import { coinOf } from '../config/networks.ts'
import { readHeld } from '../store/attention.ts'
import { readLiabilities } from '../store/figures.ts'
import { readFunnel } from '../store/funnel.ts'
import { readShelfNames } from '../store/shelf-names.ts'
import { readCurrencies } from '../store/shop-terms.ts'
import { deliveryTimes, sumsByGood, sumsByRail, sumsByTime } from '../store/sums.ts'
import { readReports } from '../store/transfers/accounts.ts'
import { readKeptWallets } from '../store/wallets.ts'
import type { DeskParts } from './desk-parts.ts'

/** What came in and went back, and how many of those who were asked have paid. */
export function moneyDeskRows(parts: DeskParts): readonly OperatorRoute[] {
  const { database, clock, accounts } = parts
  const sums = sumDesk(parts)
  const wallets = () => readKeptWallets(database, clock.now())
  return [
    ...summaryRows(sums),
    ...funnelRows(sums),
    ...moneyRows({
      ...sums,
      byGood: (question) => sumsByGood(database, question),
      names: (things) => readShelfNames(database, things),
      accounts: () => readReports(database),
      held: () => readHeld(database),
      liabilities: () => readLiabilities(database),
      wallets,
    }),
    ...walletRows({
      now: clock.now,
      wallets,
      currencyOf: ({ chainId, unit }) =>
        unit === 'wei' ? coinOf(chainId) : (accounts.find(({ chain }) => chain.chainId === chainId)?.currency ?? 'USD'),
    }),
  ]
}

function sumDesk({ database, clock, tally }: DeskParts): SumDesk {
  return {
    now: clock.now,
    refresh: tally.flush,
    byTime: (span, question) => sumsByTime(database, span, question),
    byRail: (question) => sumsByRail(database, question),
    times: (question) => deliveryTimes(database, question),
    funnel: (span, question) => readFunnel(database, span, question),
    currencies: () => readCurrencies(database),
  }
}
