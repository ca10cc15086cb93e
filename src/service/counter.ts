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
import type { RailName } from '../domain/rail.ts'
import type { Database } from '../store/db.ts'
import type { ChainAccess } from './chains.ts'
import { createCraft } from './craft.ts'
import { createGateway } from './gateway.ts'
import type { OpenRail } from './rails.ts'
import { createSale } from './sale.ts'
import { createShop } from './shop.ts'
import type { Telling } from './telling.ts'

/** What a surface is built with. */
export type CounterParts = {
  readonly config: Config
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly waypoint: Waypoint
  readonly database: Database
  readonly chainOf: (chain: ChainConfig) => ChainAccess
  /**
   * The good on each rail, or only on those that are named. What is returned is sold; what was sold on a rail that sells no longer is known
   * to the checkout all the same.
   */
  offersOn<Input extends JsonObject>(
    what: Pick<Offer<Input>, 'good' | 'price'>,
    only?: readonly RailName[],
  ): ReadonlyMap<RailName, Offer<Input>>
  /** Where goods must never go: the shop's own tills, tokens and contracts. */
  readonly ownAddresses: readonly Address[]
  /** What speaks against a payer, whatever they buy. */
  payerProblem(payer: Address): Problem | null
}

export type CounterOptions = Pick<
  CounterParts,
  'config' | 'clock' | 'random' | 'log' | 'waypoint' | 'database' | 'chainOf'
> & {
  readonly rails: readonly OpenRail[]
  readonly telling: Telling
}

/** Puts goods beside rails: what this shop sells, and how each is paid. */
export function createCounter({ rails, telling, ...options }: CounterOptions): {
  readonly counter: Counter
  readonly offers: ReadonlyMap<OfferKey, Offer>
} {
  const { config } = options
  const offers = new Map<OfferKey, Offer>()
  const parts: CounterParts = {
    ...options,
    offersOn(what, only) {
      const sold = new Map<RailName, Offer<never>>()
      for (const { rail, isSelling } of rails) {
        if (only && !only.includes(rail.name)) continue
        // The map forgets which input an offer takes; an order's row remembers, because its input was parsed for that very offer.
        const offer = { ...what, rail, ...telling.of(what.good.name, rail.name) } as unknown as Offer
        const key = offerKey({ good: offer.good.name, rail: rail.name, network: rail.network })
        if (!offers.has(key)) offers.set(key, offer)
        if (isSelling && !config.notSold.has(offer.good.surface)) sold.set(rail.name, offer as never)
      }
      return sold as unknown as ReadonlyMap<RailName, never>
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
