import type { OperatorRoute } from '../api/operator/route.ts'
import { type SumDesk, summaryRows } from '../api/operator/summary-rows.ts'
import { readFunnel } from '../store/funnel.ts'
import { deliveryTimes, sumsByRail, sumsByTime } from '../store/orders/sums.ts'
import { readCurrencies } from '../store/shop-terms.ts'
import type { DeskParts } from './operator-routes.ts'

/** What came in and went back, and how many of those who were asked have paid. */
export function moneyDeskRows(parts: DeskParts): readonly OperatorRoute[] {
  return [...summaryRows(sumDesk(parts))]
}

function sumDesk({ database, clock, tally }: DeskParts): SumDesk {
  return {
    now: clock.now,
    refresh: tally.flush,
    byTime: (span, question) => sumsByTime(database, span, question),
    byRail: (span, question) => sumsByRail(database, span, question),
    times: (question) => deliveryTimes(database, question),
    funnel: (span, question) => readFunnel(database, span, question),
    currencies: () => readCurrencies(database),
  }
}
