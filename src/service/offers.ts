import type { Address } from '../base/address.ts'
import type { Usd } from '../base/money.ts'
import type { Config } from '../config/config.ts'
import type { GoodName, ListedPrice, SurfaceName } from '../domain/good.ts'
import { type Offer, type OfferKey, offerKey } from '../domain/offer.ts'
import type { RailName } from '../domain/rail.ts'
import type { RailAccount } from '../rails/kind.ts'
import { createGoodPrices, type GoodPrices } from '../store/good-prices.ts'
import type { OpenSurface, Surface, SurfaceParts } from '../surfaces/surface.ts'
import { coverOf } from './cover.ts'
import type { HouseRules } from './house-rules.ts'
import type { OpenRail } from './rails.ts'
import type { Telling } from './telling.ts'

type OffersOptions = Omit<SurfaceParts, 'offersOn' | 'networks' | 'ownAddresses' | 'payerProblem'> & {
  /** Where the rails that sell are paid. */
  readonly accounts: readonly RailAccount[]
  readonly surfaces: readonly Surface[]
  readonly rails: readonly OpenRail[]
  readonly telling: Telling
  readonly rules: Pick<HouseRules, 'payerProblem'>
}

/** Puts goods beside rails: what this shop sells, and how each is paid. */
export function pairOffers({ surfaces, accounts, rails, telling, rules, ...options }: OffersOptions): {
  readonly open: ReadonlyMap<SurfaceName, OpenSurface>
  readonly offers: ReadonlyMap<OfferKey, Offer>
} {
  const { config } = options
  const offers = new Map<OfferKey, Offer>()
  const prices = createGoodPrices(options.database, options.clock)
  const parts: SurfaceParts = {
    ...options,
    offersOn(what, isSoldOn = () => true) {
      const sold = new Map<RailName, Offer<never>>()
      const price = what.price.kind === 'fixed' ? listed(prices, what.good.name, what.price.amount) : what.price
      for (const { rail, isSelling } of rails) {
        if (!isSoldOn(rail)) continue
        // The map forgets which input an offer takes; an order's row remembers, because its input was parsed for that very offer.
        const uncovered = coverOf(options.database, rail)
        const told = telling.of(what.good.name, rail.name)
        const offer = { ...what, price, rail, uncovered, ...told } as unknown as Offer
        const { name, network, asset } = rail
        const key = offerKey({ good: offer.good.name, rail: name, network, asset })
        if (!offers.has(key)) offers.set(key, offer)
        if (isSelling && !config.notSold.has(offer.good.surface)) sold.set(rail.name, offer as never)
      }
      return sold as unknown as ReadonlyMap<RailName, never>
    },
    networks: networksOf(accounts, config),
    ownAddresses: ownAddresses(accounts, config),
    payerProblem: rules.payerProblem,
  }
  const open = new Map<SurfaceName, OpenSurface>()
  for (const surface of surfaces) {
    const opened = surface.open(parts)
    if (opened) open.set(surface.name, opened)
  }
  return { open, offers }
}

/** Every good without a shelf has its price in the same book, whichever surface it is of. */
function listed(prices: GoodPrices, good: GoodName, usual: Usd): ListedPrice {
  return {
    kind: 'listed',
    usual,
    now: () => prices.now({ good, usual }),
  }
}

/** Each chain once; the names are those that payments go by. */
function networksOf(accounts: readonly RailAccount[], { game }: Config): SurfaceParts['networks'] {
  const all = [...accounts, { network: `eip155:${game.chain.chainId}`, chain: game.chain }]
  return all.filter(({ chain }, index) => all.findIndex((other) => other.chain.chainId === chain.chainId) === index)
}

function ownAddresses(accounts: readonly RailAccount[], { game }: Config): readonly Address[] {
  const paid = accounts.flatMap(({ payTo, asset }) => [payTo, asset])
  return [...paid, game.sale?.contract, game.craft?.controller].filter((address) => address !== undefined)
}
