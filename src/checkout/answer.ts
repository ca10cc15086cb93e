import { type JsonObject, stringify } from '../base/json.ts'
import type { Usd } from '../base/money.ts'
import { Problem } from '../base/problem.ts'
import { type Offer, viewOf } from '../domain/offer.ts'
import { type Answer, isRefundHeld, type Order, REFUND_HELD } from '../domain/order.ts'
import type { ChallengeWire, Wire } from '../domain/rail.ts'

/** Why a client is asked to pay: it asked for the price, it sent no payment, or its payment was refused. */
export type ChallengeReason = 'probe' | 'unpaid' | 'refused'

/** The problems of a request without a payment: always the same, and sent more often than all others together. */
export const ASKED: Readonly<Record<Exclude<ChallengeReason, 'refused'>, Problem>> = {
  probe: new Problem(
    'payment_required',
    'Pay to use this route. Where the price depends on the request, send the request to learn its own.',
  ),
  unpaid: new Problem('payment_required', 'Pay the challenge and repeat this request with the same body.'),
}

/** What a purchase comes to, before a carrier (HTTP or MCP) dresses it. Problems that took nothing are thrown instead. */
export type Outcome =
  /** 402: nothing was taken. */
  | {
      readonly kind: 'challenged'
      readonly why: ChallengeReason
      readonly problem: Problem
      readonly price: Usd
      readonly wire: ChallengeWire
    }
  | {
      readonly kind: 'delivered'
      readonly order: Order
      readonly answer: Answer
      readonly wire: Wire
      readonly isReplay: boolean
    }
  /** 202: known and still moving. */
  | {
      readonly kind: 'moving'
      readonly order: Order
      readonly body: JsonObject
      readonly wire: Wire
      readonly retryAfterSeconds: number
    }
  /** 200 or 202: no more than the chain shows, for a caller whose proof is no more than that. */
  | { readonly kind: 'public'; readonly order: Order; readonly body: JsonObject; readonly wire: Wire }
  /** 409: paid, and the money goes back. */
  | { readonly kind: 'failed'; readonly order: Order; readonly problem: Problem; readonly wire: Wire }

const RETRY_AFTER_SECONDS = 2
const NOTHING: Wire = { headers: {}, meta: {} }

/** The bytes of a delivered purchase. Made once, stored with the state, and repeated whenever the payment is shown again. */
export function answerOf(offer: Offer, order: Order): Answer {
  const { headers } = receiptOf(offer, order)
  return { status: 200, headers, body: stringify(offer.present(viewOf(offer, order))) }
}

/** The state of an order, as its payer reads it. Null for an expired one: its payer is asked to pay again. */
export function outcomeOf(offer: Offer, order: Order, isReplay: boolean): Outcome | null {
  switch (order.status) {
    case 'expired':
      return null
    case 'confirmed':
      // The bytes are stored for a while; what they were made from is stored for ever, and gives the same answer.
      return {
        kind: 'delivered',
        order,
        answer: order.answer ?? answerOf(offer, order),
        wire: receiptOf(offer, order),
        isReplay,
      }
    case 'failed':
    case 'refunding':
    case 'refunded':
      return { kind: 'failed', order, problem: failureOf(offer, order), wire: offer.rail.pendingReceipt(order) }
    default:
      return {
        kind: 'moving',
        order,
        body: movingBody(offer, order),
        wire: movingWire(offer, order),
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }
  }
}

/** The same for a caller who has not proved to be the buyer. */
export function publicOutcomeOf(offer: Offer, order: Order): Outcome | null {
  const outcome = outcomeOf(offer, order, true)
  switch (outcome?.kind) {
    case 'delivered':
    case 'moving':
      return { kind: 'public', order, body: offer.publish(viewOf(offer, order)), wire: outcome.wire }
    case 'failed':
      return { ...outcome, problem: failureOf(offer, order, 'public') }
    default:
      return null
  }
}

function receiptOf(offer: Offer, order: Order): Wire {
  return order.settlement === null ? NOTHING : offer.rail.receipt(order.settlement, order.id)
}

function movingWire(offer: Offer, order: Order): Wire {
  return order.settlement === null ? offer.rail.pendingReceipt(order) : receiptOf(offer, order)
}

function movingBody(offer: Offer, order: Order): JsonObject {
  const isPaid = order.settlement !== null
  return {
    ...offer.present(viewOf(offer, order)),
    code: isPaid ? 'action_pending' : 'payment_pending',
    payment: {
      taken: isPaid ? true : 'unknown',
      protocol: order.rail,
      reference: order.settlement?.transaction ?? null,
    },
    retry: { action: 'poll', afterSeconds: RETRY_AFTER_SECONDS, statusUrl: offer.statusUrl(order.id) },
  }
}

function progressOf({ status }: Order): string {
  return status === 'refunded'
    ? 'The full amount was sent back to the payer.'
    : 'The full amount is on its way back to the payer.'
}

function failureOf(offer: Offer, order: Order, audience: 'buyer' | 'public' = 'buyer'): Problem {
  const { refund, statusUrl, publicStatusUrl } = viewOf(offer, order)
  // Without a failure it was delivered, and an operator sent the money back.
  const reason =
    order.failure?.detail ?? `The shop refunded this purchase: ${order.refund?.reason ?? 'no reason given'}.`
  const progress = isRefundHeld(order) ? REFUND_HELD : progressOf(order)
  const address = audience === 'buyer' ? statusUrl : publicStatusUrl
  return new Problem('fulfilment_failed', `${reason} ${progress}`, {
    ...(address === null ? {} : { statusUrl: address }),
    members: {
      refund,
      reason: order.failure?.code ?? null,
      ...(audience === 'buyer' ? { orderId: order.id } : {}),
      paymentTx: order.settlement?.transaction ?? null,
    },
  })
}
