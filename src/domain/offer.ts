import type { Address, Hash } from '../base/address.ts'
import { isoTime } from '../base/clock.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { formatUsd, type Usd, usd } from '../base/money.ts'
import type { Problem } from '../base/problem.ts'
import type { Good, GoodName, Price } from './good.ts'
import { isRefundHeld, type Order, type OrderStatus, REFUND_HELD } from './order.ts'
import type { Rail, RailName } from './rail.ts'

/** Good, price and rail: one paid row of the route table. */
export type Offer<Input = JsonObject> = {
  readonly good: Good<Input>
  readonly price: Price<Input>
  readonly rail: Rail
  /** What a purchase looks like to its buyer, at any moment of its life. */
  present(view: PurchaseView<Input>): JsonObject
  /** The same for anybody who saw its payment on the chain: nothing in it that the chain does not show. */
  publish(view: PurchaseView<Input>): JsonObject
  /** What the shop lacks now to send back a purchase at this price, if it came to that; null: nothing. */
  uncovered(price: Usd): Promise<Problem | null>
  /** Where the status of a purchase is read, by anything that names it. */
  statusUrl(reference: string): string
}

/** How something is paid that is not sold on every rail, in words. */
export function labelsOf(offers: ReadonlyMap<RailName, { readonly rail: Rail }>): string {
  return [...offers.values()].map(({ rail }) => rail.label).join(' or ')
}

/** Recovery knows an order only by its row; this is how it finds the offer that the order was opened under. */
export type OfferKey = `${GoodName}/${RailName}/${string}`

type Sold = {
  readonly good: GoodName
  readonly rail: RailName
  readonly network: string
  readonly asset: string
}

/** The token is part of it: whoever looks for a payment among the transfers of another one finds that it never moved. */
export function offerKey({ good, rail, network, asset }: Sold): OfferKey {
  return `${good}/${rail}/${network}/${asset.toLowerCase()}`
}

/** As much of an offer as it takes to tell what became of a purchase, though it is sold no longer and nothing is left to move it with. */
export type Told = Pick<Offer, 'present' | 'publish' | 'statusUrl'> & { readonly rail: Pick<Rail, 'currency'> }

/** Everything about a purchase that may be shown to its buyer. */
export type PurchaseView<Input = JsonObject> = {
  readonly orderId: string
  readonly flowId: string
  readonly protocol: RailName
  readonly status: OrderStatus
  readonly input: Input
  readonly plan: JsonObject | null
  readonly result: JsonObject | null
  readonly payer: Address
  readonly network: string
  readonly paymentTx: Hash | null
  readonly deliveryTx: Hash | null
  readonly price: { readonly amount: string; readonly currency: string; readonly atomic: string }
  /** The buyer's own: it shows the purchase as it was answered. */
  readonly statusUrl: string
  /** By the payment's transaction, which anybody can know; null while there is none. */
  readonly publicStatusUrl: string | null
  /** Signed delivery receipt; null until there is something to sign for. */
  readonly receipt: string | null
  readonly history: Json
  readonly refund: JsonObject | null
  readonly error: JsonObject | null
  /** Milliseconds from opening to settlement. */
  readonly settlementMs: number | null
  readonly createdAt: string
  readonly updatedAt: string
}

type Shown = Pick<Told, 'statusUrl' | 'rail'>

export function viewOf<Input>(offer: Shown, order: Order): PurchaseView<Input> {
  const { settlement, refund, failure } = order
  return {
    orderId: order.id,
    flowId: order.flowId,
    protocol: order.rail,
    status: order.status,
    input: order.input as Input,
    plan: order.plan,
    result: order.result,
    payer: order.payer,
    network: order.network,
    paymentTx: settlement?.transaction ?? null,
    deliveryTx: order.deliveryTx,
    price: { amount: formatUsd(usd(order.amount)), currency: offer.rail.currency, atomic: order.amount.toString() },
    statusUrl: offer.statusUrl(order.id),
    publicStatusUrl: settlement && offer.statusUrl(settlement.transaction),
    receipt: order.receipt,
    history: order.history as unknown as Json,
    refund: refund && {
      refundId: refund.id,
      status: refund.completedAt === null ? 'refunding' : 'refunded',
      amount: formatUsd(usd(refund.amount)),
      to: refund.to,
      reason: refund.reason,
      transaction: refund.transaction,
    },
    error: failure && {
      code: failure.code,
      detail: isRefundHeld(order) ? `${failure.detail} ${REFUND_HELD}` : failure.detail,
    },
    settlementMs: settlement === null ? null : settlement.settledAt - order.createdAt,
    createdAt: isoTime(order.createdAt),
    updatedAt: isoTime(order.updatedAt),
  }
}

/** What the answers of all goods that are handed over have in common; `purchaseFields` is its schema. */
export function commonMembers(view: PurchaseView<unknown>): JsonObject {
  const {
    orderId,
    flowId,
    protocol,
    status,
    payer,
    paymentTx,
    price,
    statusUrl,
    receipt,
    history,
    refund,
    error,
    createdAt,
    updatedAt,
  } = view
  return {
    orderId,
    flowId,
    protocol,
    status,
    payer,
    paymentTx,
    price,
    statusUrl,
    receipt,
    history,
    refund,
    error,
    createdAt,
    updatedAt,
  }
}

/**
 * The same for anybody who saw the payment on the chain. The order id, the caller's own flow id and the receipt are the buyer's: whoever
 * has the order id sees the whole purchase.
 */
export function publicMembers(view: PurchaseView<unknown>): JsonObject {
  const { orderId: _order, flowId: _flow, receipt: _receipt, ...shown } = commonMembers(view)
  return { ...shown, statusUrl: view.publicStatusUrl }
}
