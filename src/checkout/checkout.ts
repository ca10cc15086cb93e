import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { JsonObject } from '../base/json.ts'
import type { Log } from '../base/log.ts'
import type { ProblemCode } from '../base/problem.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { SurfaceName } from '../domain/good.ts'
import type { Lease } from '../domain/lease.ts'
import type { Offer, OfferKey, Told } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import type { OrphanedPayment, RailName } from '../domain/rail.ts'
import type { Priority } from '../store/jobs.ts'
import type { Orders } from '../store/orders/orders.ts'
import type { Strike } from '../store/orders/strikes.ts'
import type { ReceiptSigner } from './receipt.ts'
import type { StoreMemory } from './store-memory.ts'

/** What every purchase needs, whatever is bought and however it is paid. */
export type Checkout = {
  readonly orders: Orders
  readonly jobs: OrderJobs
  /** What is sold, and what was sold on rails and surfaces that sell no longer. */
  readonly offers: ReadonlyMap<OfferKey, Offer>
  /** How an order is told whose offer is gone altogether. */
  byRecords(order: Order): Told
  /** Refuses before money moves when the store has no room left. */
  readonly ensureRoom: () => void
  /** Throws what is known to keep these goods from being sold this way right now. */
  assertSelling(surface: SurfaceName, rail: RailName): void | Promise<void>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly waypoint: Waypoint
  readonly limits: CheckoutLimits
  readonly memory: Pick<StoreMemory, 'lineage' | 'remember'>
  /** Until it is known what the store has forgotten nobody says of a payment that it was not taken. */
  isInDoubt(): Promise<boolean>
  readonly receipts: ReceiptSigner
  readonly meter: Meter
  /** Payers that nothing is sold to, and that money is sent back to only on a person's word. */
  isBlocked(payer: Address): Promise<boolean>
  /** The same for those of the configuration, at once; the store refuses the others when an order is opened. */
  isNeverServed(payer: Address): boolean
  /** Money that reached us and buys nothing: written down, and on its way back unless a person must decide. */
  sendBack(rail: RailName, orphaned: OrphanedPayment): Promise<SentBack>
  /** Where anybody can ask what became of a payment. */
  paymentUrl(rail: RailName, reference: string): string
  /** A place for a request that waits for its payer's transaction to show. Null: all are taken. Call what is returned to leave. */
  enterWaitingRoom(): (() => void) | null
  /** Somebody made us spend for nothing. */
  strike(strike: Strike): Promise<void>
  /** Orders that this process works on right now, so that a twin request can wait for the same end. */
  readonly running: Map<string, Promise<Order>>
}

/** Counts what happens, for whoever looks at the figures. Never in the way: it neither waits nor fails. */
export type Meter = {
  /** A request was asked to pay: what the funnel begins with. */
  challenged(surface: SurfaceName, rail: RailName, code: ProblemCode, detail: string): void
  /** A request was refused, paid or not, with anything but a challenge. */
  refused(surface: SurfaceName, rail: RailName, code: ProblemCode, detail: string): void
  /** An order was opened, or changed its state. */
  moved(order: Order): void
}

export type SentBack =
  /** On its way; `refund` as it is shown to whoever asks. */
  | { readonly kind: 'returning'; readonly refund: JsonObject }
  /** It waits for a person, or is too little to be sent. */
  | { readonly kind: 'kept_for_now' }
  /** A person decided that it stays. */
  | { readonly kind: 'kept' }
  /** A purchase has it, and nothing goes back. */
  | { readonly kind: 'claimed' }

type CheckoutLimits = {
  /** For so long a quoted price holds. */
  readonly challengeTtlMs: number
  /** Orders of one payer whose payment has not landed yet. */
  readonly openOrdersPerPayer: number
  /** Automatic refunds to one payer within a day; after that nothing is sold to them. */
  readonly refundsPerPayer: number
  /** Automatic refunds of a day, in atomic units; what goes beyond waits for a person. */
  readonly refundsPerDay: bigint
  /** So long a payment that does not land keeps goods from others. */
  readonly holdMsMax: number
  /** A request is answered within this time, finished or not. */
  readonly waitMsMax: number
  /** And the chain is asked for this long whether a payment landed. */
  readonly lookMsMax: number
  /** After this long without a sign of life, another process takes over an order. */
  readonly leaseSeconds: number
}

/** Who may work on which order. */
export type OrderJobs = {
  /** Takes up an order that had ended. Null when somebody works on it already. */
  begin(orderId: string, leaseSeconds: number): Promise<Lease | null>
  /** Nothing is to be done for the order after all. */
  forget(lease: Lease): Promise<boolean>
  claim(limit: number, leaseSeconds: number): Promise<readonly Lease[]>
  /** False when the lease was lost. */
  extend(lease: Lease, leaseSeconds: number): Promise<boolean>
  /** Lets go of an order; it is due again after the delay. */
  release(lease: Lease, delaySeconds: number, priority: Priority): Promise<boolean>
}
