import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { toldBy } from '../../checkout/advance.ts'
import type { ChainFinding } from '../../checkout/chain-look.ts'
import type { Checkout } from '../../checkout/checkout.ts'
import { type BookedTransfer, refundOf } from '../../domain/booked-transfer.ts'
import type { SurfaceName } from '../../domain/good.ts'
import { viewOf } from '../../domain/offer.ts'
import { isRefundHeld, type Order, REFUND_HELD, statusCodeOf } from '../../domain/order.ts'
import { type RailName, railNameSchema } from '../../domain/rail.ts'
import type { FreeAnswer } from '../../domain/route.ts'
import { FOUND_MAX, type FoundOrder } from '../../store/orders/orders.ts'

export const STATUS_SECONDS = 2

/** Status of one purchase. 200: nothing more will happen. 202: known and still moving. 404: not known here. */
export async function purchaseStatus(
  checkout: Checkout,
  surface: SurfaceName,
  rail: RailName,
  reference: string,
): Promise<FreeAnswer> {
  const all = await ordersBy(checkout, reference)
  const [found, other] = all.filter(({ order }) => order.surface === surface && order.rail === rail)
  // Of very many not all are looked at, and the one that is asked for may be none of these.
  if (other || all.length === FOUND_MAX) throw ambiguous()
  if (!found) throw boughtElsewhere(checkout, reference)
  const { order, isOwn } = found
  const told = toldBy(checkout, order)
  const view = viewOf<JsonObject>(told, order)
  const status = statusCodeOf(order.status)
  const headers: Record<string, string> = status === 202 ? { 'Retry-After': String(STATUS_SECONDS) } : {}
  return { status, body: isOwn ? told.present(view) : told.publish(view), headers }
}

export const paymentSchema = z
  .object({
    reference: z.string(),
    payment: z.object({
      taken: z.union([z.boolean(), z.literal('unknown')]).describe('Did money move?'),
      protocol: railNameSchema,
      network: z.string(),
      asset: z.string(),
      amount: z.string().describe('Atomic units'),
      payer: z.string(),
      transaction: z.string().nullable(),
    }),
    boundTo: z.object({ surface: z.string(), good: z.string(), status: z.string() }).describe('What the payment buys'),
    refund: z.looseObject({}).nullable(),
    next: z.object({
      action: z.enum(['none', 'poll', 'new_payment']),
      detail: z.string(),
      statusUrl: z.string().nullable().describe('Null while there is no transaction to ask by'),
    }),
  })
  .meta({ id: 'PaymentRecovery', description: 'Did money move, what is it bound to, what to do next' })

/** One recovery read for anything an agent may still hold. */
export async function paymentStatus(checkout: Checkout, reference: string): Promise<FreeAnswer> {
  const [found, other] = await ordersBy(checkout, reference)
  if (other) throw ambiguous()
  const { order, isOwn } = found
  const late = order.status === 'expired' ? await checkout.orders.unmatchedPayment(order.id) : null
  if (late) throw reachedUs(checkout, late)
  const told = toldBy(checkout, order)
  const { refund, statusUrl, publicStatusUrl } = viewOf<JsonObject>(told, order)
  return {
    status: statusCodeOf(order.status),
    body: {
      reference,
      payment: {
        taken: takenOf(checkout, order),
        protocol: order.rail,
        network: order.network,
        asset: order.asset,
        amount: order.amount.toString(),
        payer: order.payer,
        transaction: order.settlement?.transaction ?? null,
      },
      boundTo: { surface: order.surface, good: order.good, status: order.status },
      refund,
      next: { ...nextOf(checkout, order), statusUrl: isOwn ? statusUrl : publicStatusUrl },
    },
  }
}

/** The clocks of a chain and of the shop differ a little. */
const LANDS_LATE_MS = 60_000

/** Its order was given up, and anybody who has its authorization may bring it to the chain until its time is over. */
function mayStillLand({ clock }: Checkout, { status, expiresAt }: Order): boolean {
  return status === 'expired' && clock.now() < expiresAt + LANDS_LATE_MS
}

function takenOf(checkout: Checkout, order: Order): boolean | 'unknown' {
  return order.status === 'settling' || mayStillLand(checkout, order) ? 'unknown' : order.status !== 'expired'
}

function nextOf(checkout: Checkout, order: Order): { action: 'none' | 'poll' | 'new_payment'; detail: string } {
  switch (order.status) {
    case 'settling':
      return { action: 'poll', detail: 'Nobody knows yet whether the payment landed. Poll; do not pay again.' }
    case 'settled':
    case 'submitted':
      return { action: 'poll', detail: 'Paid; delivery is on its way. Poll until 200.' }
    case 'failed':
    case 'refunding':
      return {
        action: 'poll',
        detail: isRefundHeld(order)
          ? `Delivery failed. ${REFUND_HELD}`
          : 'Delivery failed; the full amount is on its way back to the payer.',
      }
    case 'confirmed':
      return { action: 'none', detail: 'Paid and delivered.' }
    case 'refunded':
      return { action: 'none', detail: 'The full amount was sent back to the payer. Paying again is a new purchase.' }
    case 'expired':
      if (mayStillLand(checkout, order)) {
        const end = isoTime(order.expiresAt + LANDS_LATE_MS)
        const detail = `The payment did not land. It could still land until ${end}; what lands then goes back.`
        return { action: 'poll', detail }
      }
      return { action: 'new_payment', detail: 'The payment never landed and no longer can. Paying again is safe.' }
  }
}

/** Nothing that names an order here looks otherwise, so anything else is not known; it is not an error to ask for it. */
const REFERENCE = /^[\x21-\x7e]{1,128}$/

/**
 * The orders that a name stands for. A transaction that no order is known by is looked for on the chain: the payment in it has the name that its order
 * was opened under, also where the process that sent it died before it could say so. A purchase that was given up was not paid by what came after all.
 */
async function ordersBy(checkout: Checkout, reference: string): Promise<readonly [FoundOrder, ...FoundOrder[]]> {
  const { orders } = checkout
  if (!REFERENCE.test(reference)) throw await unclaimed(checkout, reference, null)
  const [first, ...others] = await orders.byReference(reference)
  const isMade = first?.namedBy === 'seller' || first?.namedBy === 'chain'
  if (first && isMade) return [first, ...others]
  const shown = await checkout.lookAtChain(reference)
  const found = shown.kind === 'pays' ? await orders.byReference(reference, shown.names) : []
  const [payer, ...twins] = found.filter(({ order, namedBy }) => namedBy === 'chain' && order.status !== 'expired')
  if (payer) return [payer, ...twins]
  const unmatched = await orders.unmatchedPayment(reference)
  if (unmatched && !isLaterThan(first, unmatched, reference))
    throw isUnjudged(unmatched, shown) ? pending(reference) : reachedUs(checkout, unmatched)
  if (shown.kind === 'pays') throw pending(reference)
  if (!first) throw await unclaimed(checkout, reference, shown)
  return first.namedBy === 'payer' ? [first] : [first, ...others]
}

/** Was this money called so only after an order had been? Its own transaction is its name, whatever else is called so. */
function isLaterThan(
  first: FoundOrder | undefined,
  { transaction, foundAt }: BookedTransfer,
  reference: string,
): boolean {
  return first !== undefined && transaction !== reference.toLowerCase() && foundAt > first.order.createdAt
}

/** It may be the payment of an order: the books have not compared their names yet, and the chain cannot be asked now. */
function isUnjudged({ state }: BookedTransfer, { kind }: ChainFinding): boolean {
  return kind === 'unknown' && state === 'unmatched'
}

function ambiguous(): Problem {
  return new Problem(
    'payment_conflict',
    'Several payments go by this name; ask by order id, payment transaction, nonce or challenge id.',
    { taken: 'unknown', action: 'fix_request' },
  )
}

/** Every host of a shop tells what became of a payment; the main one knows also of money that came without a purchase. */
const ANY_RAIL = ''

/** The store knows no such payment. `shown`: what the chain says of it; null where it is no name of a payment. */
async function unclaimed(checkout: Checkout, reference: string, shown: ChainFinding | null): Promise<Problem> {
  const name = reference.slice(0, 80)
  if (!(await mayLackIt(checkout)))
    return shown?.kind === 'unknown'
      ? pending(reference)
      : new Problem(
          'payment_not_found',
          `No payment ${name} is known here. If you have sent it, send the same request again with the same payment; what reached the shop without a purchase goes back.`,
        )
  return new Problem(
    'payment_not_found',
    `No payment ${name} is known here, and the database of this shop was restored: it may have bought before. Send the same payment again, and no other.`,
    { action: 'wait_same_credential' },
  )
}

/** The chain shows it or may do so soon, and no purchase has claimed it yet. */
function pending(reference: string): Problem {
  return new Problem(
    'payment_pending',
    `No purchase has claimed ${reference} yet, and the chain shows it or has not answered. Send the same request with the same payment again, and no other.`,
    { action: 'wait_same_credential', afterSeconds: STATUS_SECONDS },
  )
}

/** It is known, and not by what was asked here. */
function boughtElsewhere({ paymentUrl }: Checkout, reference: string): Problem {
  return new Problem(
    'payment_not_found',
    'This payment is for something else; read what became of it at its own address.',
    {
      taken: 'unknown',
      action: 'poll',
      statusUrl: paymentUrl(ANY_RAIL, encodeURIComponent(reference)),
    },
  )
}

/** Nobody asks for longer what became of a payment. */
const ASKED_FOR_MS_MAX = 30 * 24 * 3_600_000

/** A restored store lacks the last orders before it was restored. */
async function mayLackIt({ store, clock }: Checkout): Promise<boolean> {
  return store.restoredAt() > clock.now() - ASKED_FOR_MS_MAX || !(await store.isKnown())
}

/** Without a purchase, or after its order had been given up. */
function reachedUs({ paymentUrl }: Checkout, unmatched: BookedTransfer): Problem {
  const isOver = unmatched.state === 'kept' || unmatched.refund?.transaction != null
  return new Problem('payment_conflict', `This payment reached us without a purchase. ${wayOf(unmatched)}`, {
    ...(isOver ? { action: 'none' } : { action: 'poll', statusUrl: paymentUrl(ANY_RAIL, unmatched.transaction) }),
    members: { refund: refundOf(unmatched) },
  })
}

function wayOf({ state, refund }: BookedTransfer): string {
  switch (state) {
    case 'returned':
      return refund?.transaction ? 'It was sent back to its payer in full.' : 'It is on its way back to its payer.'
    case 'kept':
      return 'The operator decided that it stays.'
    case 'held':
      return 'An operator decides what becomes of it.'
    default:
      return 'Present it with its purchase if you have not yet; otherwise it goes back to its payer, or an operator decides.'
  }
}
