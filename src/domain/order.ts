import type { Address, Hash } from '../base/address.ts'
import type { JsonObject } from '../base/json.ts'
import type { ProblemCode } from '../base/problem.ts'
import type { GoodName, SurfaceName } from './good.ts'
import type { Lease } from './lease.ts'
import type { Funds, PaidOrder, RailName } from './rail.ts'

/** One vocabulary inside and outside (D6.3). */
export type OrderStatus =
  | 'settling'
  | 'settled'
  | 'submitted'
  | 'confirmed'
  | 'failed'
  | 'refunding'
  | 'refunded'
  | 'expired'

/** From each status, where an order may go. Nothing else is possible: the store's updates name the status they leave. */
export const transitions: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  settling: ['settled', 'expired'],
  settled: ['submitted', 'confirmed', 'failed'],
  submitted: ['confirmed', 'failed'],
  failed: ['refunding'],
  refunding: ['refunded'],
  confirmed: ['refunding'],
  refunded: [],
  expired: [],
}

export const statuses = Object.keys(transitions) as readonly OrderStatus[]

/** Nothing more will happen by itself. (A confirmed order may still be refunded by an operator.) */
export function isFinal(status: OrderStatus): boolean {
  return status === 'confirmed' || status === 'refunded' || status === 'expired'
}

/** Status routes: 200 nothing more will happen, 202 known and still moving. */
export function statusCodeOf(status: OrderStatus): 200 | 202 {
  return isFinal(status) ? 200 : 202
}

export type Failure = {
  readonly code: ProblemCode
  readonly detail: string
  /** The buyer, or the receiver they named, could bring it about at will; absent: the shop has failed. */
  readonly byBuyer?: true
}

/** What the buyer reads of a refund that waits for a person. */
export const REFUND_HELD = 'The money was taken, and its refund waits for a person at the shop to decide.'

export function isRefundHeld({ status, refundHeld }: Pick<Order, 'status' | 'refundHeld'>): boolean {
  return status === 'failed' && refundHeld
}

/** Whose word a refund is that nobody decided. */
export const AUTOMATIC = 'automatic'

export type Refund = {
  readonly id: string
  readonly amount: bigint
  readonly to: Address
  /** The payment's own name: what goes back under it can go back only once. */
  readonly name: string
  readonly reason: string
  /** `automatic`, or the name the operator gave. */
  readonly by: string
  /** What the operator's request was called: the same again is the same refund. */
  readonly key: string | null
  readonly transaction: Hash | null
  readonly createdAt: number
  readonly completedAt: number | null
}

/** What was answered when nothing more could change, kept for ever and replayed byte for byte. */
export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The durable record of one purchase. Opened only after its payment verified. */
export type Order = PaidOrder & {
  readonly flowId: string
  readonly surface: SurfaceName
  readonly good: GoodName
  readonly rail: RailName
  readonly status: OrderStatus
  readonly funds: Funds
  /** Digest of what was asked: good, rail and the request with its defaults. */
  readonly requestDigest: string
  readonly proofDigest: string
  readonly idempotencyKey: string | null
  readonly input: JsonObject
  /** Null until `check` ran: only a captured payment is opened before it. */
  readonly plan: JsonObject | null
  /** Why a captured payment will be sent back as soon as it is seen on the chain. */
  readonly objection: Failure | null
  readonly deliveryTx: Hash | null
  readonly result: JsonObject | null
  readonly failure: Failure | null
  /** Its money goes back when a person says so. */
  readonly refundHeld: boolean
  readonly refund: Refund | null
  readonly answer: Answer | null
  /** The signed delivery receipt, from the moment the order is confirmed. */
  readonly receipt: string | null
  /** How often delivery has been tried. */
  readonly attempts: number
  readonly sequence: number
  readonly history: readonly { readonly status: OrderStatus; readonly at: string }[]
  readonly updatedAt: number
}

/** An order, and the right to work on it. */
export type LeasedOrder = { readonly order: Order; readonly lease: Lease }
