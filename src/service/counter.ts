import type { Counter } from '../api/routes.ts'
import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { JsonObject } from '../base/json.ts'
import type { Log } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import { type Offer, type OfferKey, offerKey } from '../domain/offer.ts'
import type { Rail, RailName } from '../domain/rail.ts'
import type { Database } from '../store/db.ts'
import type { ChainAccess } from './chains.ts'
import { createCraft } from './craft.ts'
import { createGateway } from './gateway.ts'
import { createSale } from './sale.ts'
import { createShop } from './shop.ts'

/** What a surface is built with. */
export type CounterParts = {
  readonly config: Config
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly waypoint: Waypoint
  readonly database: Database
  readonly chainOf: (chain: ChainConfig) => ChainAccess
  /** One offer for each rail that is switched on, or only for those of them that are named. */
  offersOn<Input extends JsonObject>(
    make: (rail: Rail) => Offer<Input>,
    only?: readonly RailName[],
  ): ReadonlyMap<RailName, Offer<Input>>
  statusUrl(rail: RailName, prefix: string, noun: string): (reference: string) => string
  /** Where goods must never go: the shop's own tills, tokens and contracts. */
  readonly ownAddresses: readonly Address[]
  /** What speaks against a payer, whatever they buy. */
  payerProblem(payer: Address): Problem | null
}

export type CounterOptions = Pick<
  CounterParts,
  'config' | 'clock' | 'random' | 'log' | 'waypoint' | 'database' | 'chainOf'
> & {
  readonly rails: ReadonlyMap<RailName, Rail>
}

/** Puts goods beside rails: what this shop sells, and how each is paid. */
export function createCounter({ rails, ...options }: CounterOptions): {
  readonly counter: Counter
  readonly offers: ReadonlyMap<OfferKey, Offer>
} {
  const { config } = options
  const offers = new Map<OfferKey, Offer>()
  const parts: CounterParts = {
    ...options,
    offersOn(make, only = [...rails.keys()]) {
      const chosen = [...rails].filter(([name]) => only.includes(name))
      const made = new Map(chosen.map(([name, rail]) => [name, make(rail)]))
      // The map forgets which input an offer takes; an order's row remembers, because its input was parsed for that very offer.
      for (const offer of made.values())
        offers.set(offerKey({ good: offer.good.name, rail: offer.rail.name }), offer as unknown as Offer)
      return made
    },
    statusUrl(rail, prefix, noun) {
      const base = rail === 'mpp' ? config.http.baseUrl : config.http.x402BaseUrl
      return (reference) => `${base}${prefix}/${rail}/${noun}/${reference}`
    },
    ownAddresses: ownAddresses(config),
    payerProblem: (payer) =>
      config.blockedPayers.has(payer.toLowerCase())
        ? new Problem('payer_blocked', 'This payer is not served here; nothing was taken.')
        : null,
  }
  const counter: Counter = {
    sale: createSale(parts),
    shop: createShop(parts),
    gateway: createGateway(parts),
    craft: createCraft(parts),
  }
  return { counter, offers }
}

function ownAddresses({ x402, mpp, game }: Config): readonly Address[] {
  const addresses = [
    x402?.payTo,
    x402?.asset,
    mpp?.recipient,
    mpp?.currency.address,
    game.sale?.contract,
    game.craft?.controller,
  ]
  return addresses.filter((address) => address !== undefined)
}
