import type { Address, Hash } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import type { JsonObject } from '../base/json.ts'
import type { Usd } from '../base/money.ts'
import type { Problem, ProblemCode } from '../base/problem.ts'
import type { LandedStep } from './journal.ts'
import type { Lease } from './lease.ts'

/** A family of goods. */
export type SurfaceName = string

export type GoodName = string

/** What the events of a purchase speak of. */
export type EventSubject = 'order' | 'craft.action'

/** What a request costs: the same for every request, or read from live data for this one. */
export type Price<Input> = ListedPrice | LivePrice<Input>

/** How a surface declares the price of its good. A fixed amount holds until an operator sets another. */
export type PriceTag<Input> = { readonly kind: 'fixed'; readonly amount: Usd } | LivePrice<Input>

/** The same for every request. */
export type ListedPrice = {
  readonly kind: 'listed'
  /** The price while no operator has set another. */
  readonly usual: Usd
  now(): Usd | Promise<Usd>
}

export type LivePrice<Input> = {
  readonly kind: 'live'
  /** The exact price. Throws 404 for what does not exist and 409 for what is gone, paid or not. */
  of(input: Input): Usd | Promise<Usd>
  /** The lowest and highest unit price on offer now, or null when nothing is: what a price question is answered with. */
  range(): Promise<{ readonly lowest: Usd; readonly highest: Usd } | null>
}

/** A scarce thing set aside while an order is open: granted only when all that is held, and `quantity` more, stay within `limit`. */
export type Hold = {
  readonly resource: string
  readonly quantity: bigint
  readonly limit: bigint
  /** How much is known to be used already, whatever the rows of the store say (it may have been restored from an older backup). */
  readonly used?: bigint
  /**
   * The resource's version before the limit was read. A limit read from outside is true only until the hold of another order ends: that
   * order may have used up a part of it. So quantities given back since count as held, and when this hold does not fit because of
   * that, the reading is stale and `check` runs again.
   */
  readonly seenVersion?: bigint | undefined
  /** Sold for good: the quantity stays counted after delivery (a lot's supply), instead of being given back (a lock). */
  readonly keptWhenDelivered?: boolean
  /** What to answer when it is not granted. */
  readonly refusal: { readonly code: ProblemCode; readonly detail: string }
}

/** One question that was asked about a request, and what speaks against it. */
export type Finding = {
  readonly check: string
  readonly problem: Problem | null
  /** A transaction that the user can sign to mend it. */
  readonly fix?: { readonly to: Address; readonly data: Hex; readonly description: string } | undefined
}

/** Everything that was found out, and what delivery will need, decided before money moves: the player's id, the default amount. */
export type Checked = {
  readonly findings: readonly Finding[]
  readonly plan: JsonObject
  readonly holds: readonly Hold[]
  /** What the code of whoever receives may burn of our gas; absent where none runs. */
  readonly gasAtRisk?: bigint
}

/** A purchase stops at the first thing that speaks against it; a quote tells them all. */
export function assertPassed({ findings }: Checked): void {
  const failed = findings.find(({ problem }) => problem !== null)
  if (failed?.problem) throw failed.problem
}

/** The order, as far as delivery may see it. */
export type Buyer = {
  readonly orderId: string
  readonly payer: Address
  readonly paymentTx: Hash
  readonly network: string
  readonly settledAt: number
  readonly openedAt: number
  /** How often delivery has been tried before. */
  readonly attempts: number
  /** The right to work on the order now. Whatever delivery signs is written down only while it is held. */
  readonly lease: Lease
  /** Nothing was ever signed to deliver it: this process settled it and has had the lease since, so there is nothing to look up. */
  readonly isUntried?: boolean | undefined
}

export type Delivery =
  | {
      readonly state: 'delivered'
      readonly result: JsonObject
      readonly transaction?: Hash | undefined
      /** The transaction that delivered it. It is written with the order's new state, and watched from then on. */
      readonly landed?: LandedStep | undefined
    }
  /** On its way. `transaction` once something is on the chain; the order then shows as `submitted`. */
  | {
      readonly state: 'pending'
      readonly transaction?: Hash | undefined
      readonly detail: string
      readonly retryAfterMs: number
    }
  /** Proof that it will never be delivered: nothing is in flight that could still land. The money goes back. */
  | {
      readonly state: 'impossible'
      readonly code: ProblemCode
      readonly detail: string
      /** The buyer could bring it about at will. */
      readonly byBuyer?: true
      /**
       * How many transactions the journal had for this order at that moment, beside settlement and refund. The statement that gives the order
       * up compares this with the journal; one more means that another replica is delivering.
       */
      readonly proof?: { readonly sends: number } | undefined
    }

/** Something the service sells. Knows nothing of HTTP, of payment protocols, or of its price. */
export type Good<Input> = {
  readonly name: GoodName
  readonly surface: SurfaceName
  /** The payer itself must act: a key that may only spend the money of the payer's account is refused. */
  readonly payerActs?: boolean
  /** What an order for it is called in events. */
  readonly subject: EventSubject
  /**
   * Can this exact request be delivered to this payer now? Reads only. The free quote runs the same check, before anybody pays: then
   * the payer is null, and nothing is asked about them.
   */
  check(input: Input, payer: Address | null): Promise<Checked>
  /**
   * Was it handed over under this order already, though the store does not remember? Then `check` would fail, because the goods are used up.
   * Returns what `deliver` needs to find the delivery again; null when there was none.
   */
  recall?(input: Input, orderId: string): Promise<JsonObject | null>
  /** Hands the good over. Runs at least once per order, so it is idempotent by `orderId`. */
  deliver(input: Input, plan: JsonObject, buyer: Buyer): Promise<Delivery>
}
