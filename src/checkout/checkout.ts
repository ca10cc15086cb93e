import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { Offer, OfferKey } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import type { Lease } from '../store/jobs.ts'
import type { Orders } from '../store/orders.ts'

/** What every purchase needs, whatever is bought and however it is paid. */
export type Checkout = {
  readonly orders: Orders
  readonly jobs: OrderJobs
  readonly offers: ReadonlyMap<OfferKey, Offer>
  /** Refuses before money moves when the store has no room left. */
  readonly ensureRoom: () => void
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly waypoint: Waypoint
  readonly limits: CheckoutLimits
  /** Orders that this process works on right now, so that a twin request can wait for the same end. */
  readonly running: Map<string, Promise<Order>>
}

export type CheckoutLimits = {
  /** A request is answered within this time, finished or not. */
  readonly waitMsMax: number
  /** After this long without a sign of life, another process takes over an order. */
  readonly leaseSeconds: number
}

/** Who may work on which order. */
export type OrderJobs = {
  claim(limit: number, leaseSeconds: number): Promise<readonly Lease[]>
  /** False when the lease was lost. */
  extend(lease: Lease, leaseSeconds: number): Promise<boolean>
  /** Lets go of an order; it is due again after the delay. */
  release(lease: Lease, delaySeconds: number): Promise<boolean>
}
