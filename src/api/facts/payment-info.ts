import type { JsonObject } from '../../base/json.ts'
import { formatUsd, times } from '../../base/money.ts'
import type { PricedRoute } from './facts.ts'

/**
 * `x-payment-info` in the one shape that all of its readers take without a warning: some want `offers`, others `price` and `protocols`. None of the older flat keys may stand beside `offers`. The terms are the rail's own, the
 * words of contract 5.4.1 and those after it; the challenge of a live 402 is made from the same ones.
 */
export function paymentInfo({ route, amount, range }: PricedRoute, quantityMax: number): JsonObject {
  const terms = route.offer.rail.describe(amount)
  // The least is one piece at the list price; the most is what a careful agent may set aside before it asks.
  const bounds = range && {
    min: formatUsd(range.lowest),
    max: formatUsd(times(range.highest, quantityMax)),
  }
  const { rail } = route.offer
  const { network, asset, payTo } = rail
  const atomic = terms['atomic']
  // Some readers know only flat keys. Beside `offers`, amount and currency would be taken for an older shape.
  const flat = 'offers' in terms || atomic === undefined ? {} : { amount: atomic, currency: asset }
  return {
    protocol: rail.name,
    network,
    asset,
    payTo,
    ...flat,
    ...terms,
    price: { ...(terms['price'] as JsonObject), ...bounds },
    rateLimited: route.isRateLimited,
  }
}
