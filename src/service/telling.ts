import type { JsonObject } from '../base/json.ts'
import type { Config } from '../config/config.ts'
import type { GoodName } from '../domain/good.ts'
import type { Offer, Told } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import type { RailName } from '../domain/rail.ts'
import type { ShopTerms } from '../store/shop-terms.ts'
import type { Accelerate, Burn } from '../surfaces/craft/schema.ts'
import { presentAccelerate, presentBurn } from '../surfaces/craft/view.ts'
import { presentHealth, publishHealth } from '../surfaces/gateway/probe.ts'
import { presentReport, publishReport } from '../surfaces/gateway/report.ts'
import { presentSale, publishSale } from '../surfaces/sale/view.ts'
import { presentLookup, publishLookup } from '../surfaces/shop/lookup.ts'
import { presentItem, publishItem } from '../surfaces/shop/view.ts'

/** How the purchases of each good are told, and where, whether it is sold or not. */
export type Telling = {
  of(good: GoodName, rail: RailName): Pick<Offer, 'present' | 'publish' | 'statusUrl'>
  /** An order whose good or rail this shop no longer has anything of but its records. */
  byRecords(order: Order): Told
}

type Place = (rail: RailName) => string
type Way<Input> = Pick<Offer<Input>, 'present' | 'publish'> & { readonly place: Place }

const DEFAULT_AMOUNT = 10n ** 18n

export function createTelling({ http, game }: Config, past: readonly ShopTerms[]): Telling {
  const defaultAmount = game.craft?.defaultAmount ?? DEFAULT_AMOUNT
  const hostOf = (rail: RailName) => (rail === 'mpp' ? http.baseUrl : http.x402BaseUrl)
  const under =
    (prefix: string, noun: string): Place =>
    (rail) =>
      `${hostOf(rail)}${prefix}/${rail}/${noun}`
  // The gateway has no status route of its own: what became of a payment is told where it is told for all.
  const everywhere: Place = () => `${http.x402BaseUrl}/payments`
  const ways = {
    saleLot: way({ present: presentSale, publish: publishSale, place: under('/agentic', 'purchases') }),
    shopItem: way({ present: presentItem, publish: publishItem, place: under('/shop', 'purchases') }),
    playerLookup: way({ present: presentLookup, publish: publishLookup, place: under('/shop', 'purchases') }),
    healthProbe: way({ present: presentHealth, publish: publishHealth, place: everywhere }),
    txReport: way({ present: presentReport, publish: publishReport, place: everywhere }),
    burn: way<Burn>({
      present: presentBurn,
      publish: (view) => presentBurn(view, 'public'),
      place: under('/craft', 'actions'),
    }),
    accelerate: way<Accelerate>({
      present: (view) => presentAccelerate(view, defaultAmount),
      publish: (view) => presentAccelerate(view, defaultAmount, 'public'),
      place: under('/craft', 'actions'),
    }),
  } satisfies Record<GoodName, Way<JsonObject>>

  const of: Telling['of'] = (good, rail) => {
    const { present, publish, place } = ways[good]
    return { present, publish, statusUrl: (reference) => `${place(rail)}/${reference}` }
  }
  return {
    of,
    byRecords({ good, rail, network }) {
      const currency = past.find((terms) => terms.rail === rail && terms.network === network)?.currency ?? 'USD'
      return { ...of(good, rail), rail: { currency } }
    },
  }
}

/** The table forgets which input a good takes; an order's row remembers, because its input was parsed for that very good. */
function way<Input>(typed: Way<Input>): Way<JsonObject> {
  return typed as unknown as Way<JsonObject>
}
