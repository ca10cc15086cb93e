import type { JsonObject } from '../../base/json.ts'
import { formatUsd, times } from '../../base/money.ts'
import type { PricedRoute } from './facts.ts'

/**
 * `x-payment-info` in the one shape that all of its readers take without a warning: some want `offers`, others `price` and `protocols`. None of the older flat keys may stand beside `offers`. The terms are the rail's own, the
 * words of contract 5.4.1 and those after it; the challenge of a live 402 is made from the same ones.
 */
export function paymentInfo({ route, range }: PricedRoute, quantityMax: number): JsonObject {
  const { price, rail } = route.offer
  const terms = rail.describe(price.kind === 'fixed' ? price.amount : null)
  // The least is one piece at the list price; the most is what a careful agent may set aside before it asks.
  const bounds = range && {
    min: formatUsd(range.lowest),
    max: formatUsd(times(range.highest, quantityMax)),
  }
  return {
    ...terms,
    price: { ...(terms['price'] as JsonObject), ...bounds },
    rateLimited: route.isRateLimited,
  }
}
