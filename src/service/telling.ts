import type { Config } from '../config/config.ts'
import type { GoodName } from '../domain/good.ts'
import type { Offer, Told } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import type { RailName } from '../domain/rail.ts'
import type { ShopTerms } from '../store/shop-terms.ts'
import type { Surface, ToldGood } from '../surfaces/surface.ts'

/** How the purchases of each good are told, and where, whether it is sold or not. */
export type Telling = {
  of(good: GoodName, rail: RailName): Pick<Offer, 'present' | 'publish' | 'statusUrl'>
  /** An order whose good or rail this shop no longer has anything of but its records. */
  byRecords(order: Order): Told
}

export function createTelling(config: Config, surfaces: readonly Surface[], past: readonly ShopTerms[]): Telling {
  const { http } = config
  const goods = new Map<GoodName, ToldGood>(surfaces.flatMap((surface) => Object.entries(surface.goods(config))))
  const hostOf = (rail: RailName) => (rail === 'mpp' ? http.baseUrl : http.x402BaseUrl)

  const of: Telling['of'] = (good, rail) => {
    const told = goods.get(good)
    if (!told) throw new Error(`no surface tells of ${good}`)
    const { host, path } = told.place(rail)
    const { present, publish } = told
    return { present, publish, statusUrl: (reference) => `${hostOf(host)}${path}/${reference}` }
  }
  return {
    of,
    byRecords({ good, rail, network }) {
      const currency = past.find((terms) => terms.rail === rail && terms.network === network)?.currency ?? 'USD'
      return { ...of(good, rail), rail: { currency } }
    },
  }
}
