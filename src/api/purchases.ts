import * as z from 'zod'
import { isHash } from '../base/address.ts'
import type { JsonObject } from '../base/json.ts'
import { Problem } from '../base/problem.ts'
import type { Checkout } from '../checkout/checkout.ts'
import type { Surface } from '../domain/good.ts'
import { type Offer, offerKey, viewOf } from '../domain/offer.ts'
import { type Order, statusCodeOf } from '../domain/order.ts'
import type { RailName } from '../domain/rail.ts'
import type { FreeAnswer } from './route.ts'

export const referenceParams = z.strictObject({
  paymentTx: z
    .string()
    .min(1)
    .describe('Payment transaction; the order id, the nonce of the payment or the challenge id work too'),
})

/** What a status route answers beside 200. */
export const STATUS_ANSWERS = [202, 404, 409] as const

export const STATUS_SECONDS = 2

/** Status of one purchase. 200: nothing more will happen. 202: known and still moving. 404: never claimed by us. */
export async function purchaseStatus(
  checkout: Checkout,
  surface: Surface,
  rail: RailName,
  reference: string,
): Promise<FreeAnswer> {
  const orders = await ordersBy(checkout, reference)
  const order = orders.find((order) => order.surface === surface && order.rail === rail)
  if (!order) throw await unclaimed(checkout, reference)
  const status = statusCodeOf(order.status)
  const headers: Record<string, string> = status === 202 ? { 'Retry-After': String(STATUS_SECONDS) } : {}
  return { status, body: shownTo(reference, checkout, order), headers }
}

/**
 * A transaction hash and a nonce are public, so they show only what the chain shows anyway; whoever knows the order id or the challenge id
 * is the buyer, and sees the purchase as it was answered.
 */
function shownTo(reference: string, checkout: Checkout, order: Order): JsonObject {
  const offer = offerOf(checkout, order)
  const view = viewOf(offer, order)
  return isPublic(reference, order) ? offer.publish(view) : offer.present(view)
}

function isPublic(reference: string, order: Order): boolean {
  return reference !== order.id && /^0x[0-9a-f]{64}$/i.test(reference)
}

export const paymentSchema = z
  .object({
    reference: z.string(),
    payment: z.object({
      taken: z.union([z.boolean(), z.literal('unknown')]).describe('Did money move?'),
      protocol: z.enum(['x402', 'mpp']),
      network: z.string(),
      asset: z.string(),
      amount: z.string().describe('Atomic units'),
      payer: z.string(),
      transaction: z.string().nullable(),
    }),
    boundTo: z.object({ surface: z.string(), good: z.string(), status: z.string() }).describe('What the payment buys'),
    refund: z.looseObject({}).nullable(),
    next: z.object({ action: z.enum(['none', 'poll', 'new_payment']), detail: z.string(), statusUrl: z.string() }),
  })
  .meta({ id: 'PaymentRecovery', description: 'Did money move, what is it bound to, what to do next' })

/** One recovery read for anything an agent may still hold. */
export async function paymentStatus(checkout: Checkout, reference: string): Promise<FreeAnswer> {
  const [order, other] = await ordersBy(checkout, reference)
  if (!order) throw await unclaimed(checkout, reference)
  if (other)
    throw new Problem(
      'payment_conflict',
      'Several payments go by this name; ask by payment transaction, nonce or challenge id.',
      { taken: 'unknown' },
    )
  const offer = offerOf(checkout, order)
  const { refund, statusUrl } = viewOf(offer, order)
  return {
    status: statusCodeOf(order.status),
    body: {
      reference,
      payment: {
        taken: takenOf(order),
        protocol: order.rail,
        network: order.network,
        asset: order.asset,
        amount: order.amount.toString(),
        payer: order.payer,
        transaction: order.settlement?.transaction ?? null,
      },
      boundTo: { surface: order.surface, good: order.good, status: order.status },
      refund,
      next: { ...nextOf(order), statusUrl },
    },
  }
}

function takenOf({ status }: Order): boolean | 'unknown' {
  return status === 'settling' ? 'unknown' : status !== 'expired'
}

function nextOf({ status }: Order): { action: 'none' | 'poll' | 'new_payment'; detail: string } {
  switch (status) {
    case 'settling':
      return { action: 'poll', detail: 'Nobody knows yet whether the payment landed. Poll; do not pay again.' }
    case 'settled':
    case 'submitted':
      return { action: 'poll', detail: 'Paid; delivery is on its way. Poll until 200.' }
    case 'failed':
    case 'refunding':
      return { action: 'poll', detail: 'Delivery failed; the full amount is on its way back to the payer.' }
    case 'confirmed':
      return { action: 'none', detail: 'Paid and delivered.' }
    case 'refunded':
      return { action: 'none', detail: 'The full amount was sent back to the payer. Paying again is a new purchase.' }
    case 'expired':
      return { action: 'new_payment', detail: 'The payment never landed and no longer can. Paying again is safe.' }
  }
}

/** Nothing that names an order here looks otherwise, so anything else was never claimed; it is not an error to ask for it. */
const REFERENCE = /^[\x21-\x7e]{1,128}$/

async function ordersBy({ orders }: Checkout, reference: string): Promise<readonly Order[]> {
  return REFERENCE.test(reference) ? orders.byReference(reference) : []
}

function offerOf(checkout: Checkout, order: Order): Offer {
  const offer = checkout.offers.get(offerKey(order))
  if (!offer) throw new Error(`order ${order.id} is for ${offerKey(order)}, which this shop no longer offers`)
  return offer
}

/** Never claimed; but the money may have reached us all the same, and then its payer is told so. */
async function unclaimed({ orders }: Checkout, reference: string): Promise<Problem> {
  const stray = isHash(reference) ? await orders.stray(reference) : null
  if (!stray) return new Problem('payment_not_found', `No payment ${reference.slice(0, 80)} was ever claimed here.`)
  const { state, sender, refundTx } = stray
  const isBack = state === 'refunded'
  const refund = isBack || state === 'refunding' ? { status: state, to: sender, transaction: refundTx } : null
  const words = isBack
    ? 'It was sent back to its payer in full.'
    : refund
      ? 'It is on its way back to its payer.'
      : 'Present it with its purchase if you have not yet; otherwise it goes back to its payer, or an operator decides.'
  return new Problem('payment_conflict', `This payment reached us without a purchase. ${words}`, {
    action: isBack ? 'none' : 'poll',
    members: { refund },
  })
}
