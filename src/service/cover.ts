import { formatUsd, usd } from '../base/money.ts'
import { Problem } from '../base/problem.ts'
import type { Offer } from '../domain/offer.ts'
import type { Rail } from '../domain/rail.ts'
import type { Queryable } from '../store/db.ts'
import { owedOn } from '../store/orders/exposure.ts'

/** The rule by which an order is opened, told before anybody pays: the float covers all that is open, and one more. */
export function coverOf(database: Queryable, rail: Rail): Offer['uncovered'] {
  return async (price) => {
    const float = await rail.float(rail.payTo, price)
    if (float === null) return null
    const missing = (await owedOn(database, rail)) + price - float
    if (missing <= 0n) return null
    const sum = `${formatUsd(usd(missing))} ${rail.currency}`
    return new Problem(
      'shop_overcommitted',
      `The float that refunds leave from is ${sum} short on ${rail.label}; nothing is taken there at this price before it is filled up.`,
    )
  }
}
