import type { Address, Hash } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { ProblemCode } from '../base/problem.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { SurfaceName } from '../domain/good.ts'
import type { Lease } from '../domain/lease.ts'
import type { Offer, OfferKey, Told } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import type { RailName } from '../domain/rail.ts'
import type { Fate } from '../ledger/shown-payment.ts'
import type { StoreGate } from '../ledger/store-gate.ts'
import type { Priority } from '../store/jobs.ts'
import type { Orders } from '../store/orders/orders.ts'
import type { ChainFinding } from './chain-look.ts'
import type { ReceiptSigner } from './receipt.ts'

/** What every purchase needs, for any good and any rail. */
export type Checkout = {
  readonly orders: Orders
  readonly jobs: OrderJobs
  /** The offers that are sold, and those of retired rails and surfaces. */
  readonly offers: ReadonlyMap<OfferKey, Offer>
  /** Presents an order whose offer is not configured any more. */
  byRecords(order: Order): Told
  /** Refuses before money moves when the store has no room left. */
  readonly ensureRoom: () => void
  /** Throws the known reason why these goods cannot be sold on this rail right now. */
  assertSelling(surface: SurfaceName, rail: RailName): void | Promise<void>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly waypoint: Waypoint
  readonly limits: CheckoutLimits
  /** Is the store the one that the shop sells from, and since when may it lack purchases? */
  readonly store: Pick<StoreGate, 'isKnown' | 'restoredAt'>
  readonly receipts: ReceiptSigner
  readonly meter: Meter
  /** Payers to whom the shop sells nothing, and refunds only when an operator decides so. */
  isBlocked(payer: Address): Promise<boolean>
  /** The same for the payers that the configuration names, without a query; the store refuses the others when an order is opened. */
  isNeverServed(payer: Address): boolean
  /** What becomes of a payment that was shown and buys nothing. */
  fateOf(rail: RailName, transaction: Hash): Promise<Fate>
  /** What the chains show of a name that may be a transaction. */
  lookAtChain(name: string): Promise<ChainFinding>
  /** The public address that tells what became of a payment. */
  paymentUrl(rail: RailName, reference: string): string
  /** A place for a request that waits for its payer's transaction to show. Null: all are taken, or this client's share. Call what is returned to leave. */
  enterWaitingRoom(client: string): (() => void) | null
  /** Orders that this process works on right now, so that a twin request can wait for the same end. */
  readonly running: Map<string, Promise<Order>>
}

/** Counts what happens, for metrics and statistics. It neither waits nor fails. */
export type Meter = {
  /** A request was asked to pay: what the funnel begins with. */
  challenged(surface: SurfaceName, rail: RailName, code: ProblemCode, detail: string): void
  /** A request was refused, paid or not, with anything but a challenge. */
  refused(surface: SurfaceName, rail: RailName, code: ProblemCode, detail: string): void
  /** An order was opened, or changed its state. */
  moved(order: Order): void
}

type CheckoutLimits = {
  /** For so long a quoted price holds. */
  readonly challengeTtlMs: number
  /** Orders of one payer whose payment has not landed yet. */
  readonly openOrdersPerPayer: number
  /** What code of strangers, and transactions that fail, may use up of our gas within an hour. */
  readonly gasPerHour: bigint
  /** Automatic refunds to one payer within a day; after that the shop sells nothing to them. */
  readonly refundsPerPayer: number
  /** Automatic refunds of a day, in atomic units; what goes beyond waits for an operator. */
  readonly refundsPerDay: bigint
  /** The percentage of the float that may go back within a day where a buyer has brought it about. */
  readonly receiverRefundPercent: number
  /** So long the goods of a payment that does not land stay reserved. */
  readonly holdMsMax: number
  /** A request is answered within this time, finished or not. */
  readonly waitMsMax: number
  /** The chain is asked for at most this long whether a payment landed. */
  readonly lookMsMax: number
  /** After this long without a sign of life, another process takes over an order. */
  readonly leaseSeconds: number
}

/** The leases of orders: which process may work on which. */
export type OrderJobs = {
  /** Takes up an order that had ended. Null when a process works on it already. */
  begin(orderId: string, leaseSeconds: number): Promise<Lease | null>
  /** Deletes the job: nothing is left to do for the order. */
  forget(lease: Lease): Promise<boolean>
  claim(limit: number, leaseSeconds: number): Promise<readonly Lease[]>
  /** False when the lease was lost. */
  extend(lease: Lease, leaseSeconds: number): Promise<boolean>
  /** Gives the lease back; the order is due again after the delay. */
  release(lease: Lease, delaySeconds: number, priority: Priority): Promise<boolean>
}
