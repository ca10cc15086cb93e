import { sameAddress } from '../base/address.ts'
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

export function createTelling(parts: {
  readonly config: Config
  readonly surfaces: readonly Surface[]
  /** Public address of a rail's routes. */
  readonly hostOf: (rail: RailName) => string
  readonly past: readonly ShopTerms[]
}): Telling {
  const { config, surfaces, hostOf, past } = parts
  const goods = new Map<GoodName, ToldGood>(surfaces.flatMap((surface) => Object.entries(surface.goods(config))))

  const of: Telling['of'] = (good, rail) => {
    const told = goods.get(good)
    if (!told) throw new Error(`no surface tells of ${good}`)
    const { present, publish, place } = told
    return { present, publish, statusUrl: (reference) => `${hostOf(rail)}${place(rail)}/${reference}` }
  }
  return {
    of,
    byRecords({ good, rail, network, asset }) {
      const terms = past.find((one) => one.rail === rail && one.network === network && sameAddress(one.asset, asset))
      return { ...of(good, rail), rail: { currency: terms?.currency ?? 'USD' } }
    },
  }
}
