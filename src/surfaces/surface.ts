import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { JsonObject } from '../base/json.ts'
import type { Log } from '../base/log.ts'
import type { Exchange } from '../base/outgoing.ts'
import type { Problem } from '../base/problem.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import type { Limits } from '../config/limits.ts'
import type { ChainKey } from '../config/signing-key.ts'
import type { Shelf } from '../domain/catalog.ts'
import type { GoodName, PriceTag, SurfaceName } from '../domain/good.ts'
import type { Offer } from '../domain/offer.ts'
import type { Rail, RailName } from '../domain/rail.ts'
import type { FreeAnswer, Host, Route } from '../domain/route.ts'
import type { ChainAccess } from '../outbox/access.ts'
import type { Database } from '../store/db.ts'

/**
 * A family of goods: everything there is to know about selling it lies in its folder, behind one of these. Its error codes are declared there too
 * (`declareProblems`). Outside, one is named by the list of them in `service/surfaces.ts` and where operators set it up: its options in `config/`,
 * its contract and keys in `setup/` and `cli/`. `test/floors.test.ts` knows the other places.
 */
export type Surface = {
  readonly name: SurfaceName
  /** What it sells, in words that documents put into a sentence. */
  readonly words: readonly string[]
  /** One line about it in contracts. */
  readonly title: string
  /** Documents list services after goods. */
  readonly isService?: boolean
  /** Does it have items of its own in the catalog? */
  readonly hasShelf: boolean
  /** Can the example of its rows be delivered to whoever pays? Recipes buy it then, rather than what asks for more than money. */
  readonly suitsAnybody?: boolean
  /** How long delivery is tried before the money goes back. */
  deliveryMs(limits: Limits): number
  /** How the answers about purchases of each of its goods are written, whether the shop still sells them or not. */
  goods(config: Config): Readonly<Record<GoodName, ToldGood>>
  /** The keys of ours that act on a chain for it. None are needed where a surface says nothing. */
  keys?(config: Config): readonly SurfaceKey[]
  /** The row at which a buyer asks for a purchase; null where `/payments` is enough. */
  statusRow(context: RowContext, rail: RailName): Route | null
  /** Null: the configuration of this shop has nothing of it. */
  open(parts: SurfaceParts): OpenSurface | null
}

/** A key, by what it is for: `sutler keys` and whoever watches wallets call it so. */
export type SurfaceKey = {
  readonly role: string
  readonly chain: ChainConfig
  readonly key: ChainKey
  /** It signs, and another key sends: it needs no gas. */
  readonly isSentByAnother?: boolean
}

export type ToldGood = Pick<Offer, 'present' | 'publish'> & {
  /** The path at which a purchase can be read, without its reference. */
  place(rail: RailName): string
}

/** Each good has an input type of its own; the table of all goods only knows that the row of an order has that input. */
export function toldGood<Input>(typed: Pick<Offer<Input>, 'present' | 'publish'>, place: ToldGood['place']): ToldGood {
  return { ...(typed as unknown as Pick<Offer, 'present' | 'publish'>), place }
}

/** A surface as one configuration makes it. */
export type OpenSurface = {
  /** The rails on which it sells. */
  readonly rails: readonly RailName[]
  /** Its rows of the route table on one of them. */
  rows(context: RowContext, rail: RailName): readonly Route[]
  readonly shelf?: Shelf
  /** A studio's own game backend hands over what it sells. */
  readonly needsGame?: boolean
  /** Throws a Problem when it could deliver nothing now to any buyer, because of something that the operator or the game must mend. Reads only. */
  assertSells?(): Promise<void>
  /** Which roles the keys of the shop need on a chain for it, and whether they have them. Reads only. */
  rights?(): Promise<readonly KeyRight[]>
}

/** Not a promise where the list of blocked payers is in memory. */
export type PayerProblem = Problem | null | Promise<Problem | null>

export type KeyRight = { readonly address: Address; readonly name: string; readonly has: boolean }

/** What rows are written with. */
export type RowContext = {
  /** Public address of a path on the host of a rail. */
  urlOf(rail: RailName, path: string): string
  /** Which of the public hosts of the shop that is. */
  hostOf(rail: RailName): Host
  /** The host of everything that belongs to no rail. */
  readonly mainHost: Host
  purchaseStatus(surface: SurfaceName, rail: RailName, reference: string): Promise<FreeAnswer>
}

/** What a surface is built with. */
export type SurfaceParts = {
  readonly config: Config
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly waypoint: Waypoint
  /** The HTTP client for services outside. */
  readonly exchange: Exchange
  readonly database: Database
  readonly chainOf: (chain: ChainConfig) => ChainAccess
  /** The configured chains, by the network names that payments use. */
  readonly networks: readonly { readonly network: string; readonly chain: ChainConfig }[]
  /**
   * The good on each rail, or only on those that it is sold on. The offers that it returns are sold; those on retired rails are registered with
   * the checkout all the same, for the orders that they have.
   */
  offersOn<Input extends JsonObject>(
    what: Pick<Offer<Input>, 'good'> & { readonly price: PriceTag<Input> },
    isSoldOn?: (rail: Rail) => boolean,
  ): ReadonlyMap<RailName, Offer<Input>>
  /** Where goods must never go: the shop's own tills, tokens and contracts. */
  readonly ownAddresses: readonly Address[]
  /** Why the shop sells nothing to this payer; null: it does. */
  payerProblem(payer: Address): PayerProblem
}
