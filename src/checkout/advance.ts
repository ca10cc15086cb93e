import { newId } from '../base/id.ts'
import { isProblem } from '../base/problem.ts'
import { eventTypeOf } from '../domain/event.ts'
import { assertPassed, type Buyer, type Delivery } from '../domain/good.ts'
import { type Offer, offerKey, viewOf } from '../domain/offer.ts'
import { type Failure, isFinal, type Order, type Refund } from '../domain/order.ts'
import type { Lease } from '../store/jobs.ts'
import { type Change, changed } from '../store/order-change.ts'
import { answerOf } from './answer.ts'
import type { Checkout } from './checkout.ts'

/**
 * Carries an order one step further, from whatever state a request, a crash or another process left it in. The request that opened the
 * order calls it first; the worker calls the very same function for any order that nobody holds. Recovery is not a second path.
 */
export async function advance(checkout: Checkout, order: Order, lease: Lease): Promise<Step> {
  const offer = checkout.offers.get(offerKey(order))
  if (!offer) throw new Error(`order ${order.id} is for ${offerKey(order)}, which this shop no longer offers`)
  switch (order.status) {
    case 'settling':
      return settle(checkout, offer, order, lease)
    case 'settled':
      return order.plan === null ? plan(checkout, offer, order, lease) : deliver(checkout, offer, order, lease)
    case 'submitted':
      return deliver(checkout, offer, order, lease)
    case 'failed':
      return beginRefund(checkout, offer, order, lease, {
        reason: order.failure?.detail ?? 'delivery failed',
        by: 'automatic',
      })
    case 'refunding':
      return refund(checkout, offer, order, lease)
    case 'confirmed':
    case 'refunded':
    case 'expired':
      // Somebody took it up again, and died before anything came of it.
      await checkout.jobs.forget(lease)
      return { kind: 'ended', order }
  }
}

export type Step =
  | { readonly kind: 'moved'; readonly order: Order }
  /** Nothing to do before `waitMs` have passed. */
  | { readonly kind: 'waiting'; readonly order: Order; readonly waitMs: number; readonly detail: string }
  | { readonly kind: 'ended'; readonly order: Order }
  /** Somebody else works on it now. */
  | { readonly kind: 'lost' }

const POLL_MS = 500
const POLL_MS_MAX = 30_000

async function settle(checkout: Checkout, offer: Offer, order: Order, lease: Lease): Promise<Step> {
  const { orders, clock, waypoint } = checkout
  await waypoint('settle.begun')
  const outcome = await offer.rail.settle(order, lease).catch((error) => unknownOutcome(checkout, order, error))
  await waypoint('settle.done')
  switch (outcome.kind) {
    case 'settled': {
      const { transaction, payer, settledAt } = outcome.settlement
      const { amount } = outcome
      const next = await move(checkout, offer, order, lease, {
        to: 'settled',
        paymentTx: transaction,
        payer,
        settledAt,
        ...(amount === undefined ? {} : { amount, objection: amountObjection(order, amount) }),
      })
      await waypoint('order.settled')
      return next
    }
    case 'refused': {
      const { code, detail } = outcome
      const next = await move(checkout, offer, order, lease, { to: 'expired', failure: { code, detail } })
      await waypoint('order.expired')
      return next
    }
    case 'unknown': {
      const doubtful = await orders.markInDoubt(lease, order)
      if (!doubtful) return { kind: 'lost' }
      return {
        kind: 'waiting',
        order: doubtful,
        waitMs: backOff(clock.now() - order.createdAt),
        detail: outcome.detail,
      }
    }
  }
}

function amountObjection({ amount }: Order, came: bigint): Failure {
  const detail = `The challenge asked for ${amount} atomic units; ${came} came.`
  return { code: 'payment_amount_mismatch', detail }
}

/** Whatever went wrong on the way, money may have moved: only a later look can tell. */
function unknownOutcome(
  checkout: Checkout,
  order: Order,
  error: unknown,
): { readonly kind: 'unknown'; readonly detail: string } {
  checkout.log.warn('settlement attempt ended without an answer', { orderId: order.id, error })
  return {
    kind: 'unknown',
    detail: isProblem(error) ? error.message : 'The settlement attempt ended without an answer.',
  }
}

/** Only for money that moved before we heard of it: now ask whether it can be delivered, and send it back when not. */
async function plan(checkout: Checkout, offer: Offer, order: Order, lease: Lease): Promise<Step> {
  if (order.objection) return fail(checkout, offer, order, lease, order.objection)
  try {
    const checked = await offer.good.check(order.input, order.payer)
    assertPassed(checked)
    const outcome = await checkout.orders.setPlan(lease, order, checked.plan, checked.holds)
    if (outcome.kind === 'lost') return { kind: 'lost' }
    if (outcome.kind === 'set') return { kind: 'moved', order: outcome.order }
    if (outcome.isStale) return { kind: 'moved', order }
    return fail(checkout, offer, order, lease, outcome.hold.refusal)
  } catch (error) {
    // A refusal is final; an outage is not.
    if (!isProblem(error) || error.status >= 500) throw error
    return fail(checkout, offer, order, lease, { code: error.code, detail: error.message })
  }
}

async function deliver(checkout: Checkout, offer: Offer, order: Order, lease: Lease): Promise<Step> {
  const { orders, waypoint } = checkout
  if (order.plan === null) throw new TypeError(`order ${order.id} has no plan`)
  await waypoint('deliver.begun')
  const delivery = await offer.good
    .deliver(order.input, order.plan, buyerOf(order, lease))
    .catch((error) => undelivered(checkout, order, error))
  await waypoint('deliver.done')
  switch (delivery.state) {
    case 'delivered': {
      const { result, transaction } = delivery
      const next = await confirm(checkout, offer, order, lease, { to: 'confirmed', result, deliveryTx: transaction })
      await waypoint('order.confirmed')
      return next
    }
    case 'impossible':
      return fail(checkout, offer, order, lease, { code: delivery.code, detail: delivery.detail })
    case 'pending': {
      const counted = await orders.countAttempt(lease, order)
      if (!counted) return { kind: 'lost' }
      if (delivery.transaction === undefined || order.status === 'submitted')
        return { kind: 'waiting', order: counted, waitMs: delivery.retryAfterMs, detail: delivery.detail }
      const next = await move(checkout, offer, counted, lease, { to: 'submitted', deliveryTx: delivery.transaction })
      await waypoint('order.submitted')
      return next.kind === 'moved'
        ? { kind: 'waiting', order: next.order, waitMs: delivery.retryAfterMs, detail: delivery.detail }
        : next
    }
  }
}

/** A delivery that threw may have happened; it is idempotent, so it is simply tried again. */
function undelivered(checkout: Checkout, order: Order, error: unknown): Delivery {
  checkout.log.warn('delivery attempt ended without an answer', { orderId: order.id, attempts: order.attempts, error })
  const detail = isProblem(error) ? error.message : 'The delivery attempt ended without an answer.'
  return { state: 'pending', detail, retryAfterMs: Math.min(POLL_MS_MAX, POLL_MS * 2 ** Math.min(order.attempts, 10)) }
}

async function fail(checkout: Checkout, offer: Offer, order: Order, lease: Lease, failure: Failure): Promise<Step> {
  checkout.log.error('delivery is impossible; the money goes back', { orderId: order.id, ...failure })
  const next = await move(checkout, offer, order, lease, { to: 'failed', failure })
  await checkout.waypoint('order.failed')
  return next
}

/** Also what an operator's refund of a confirmed order begins with. */
export async function beginRefund(
  checkout: Checkout,
  offer: Offer,
  order: Order,
  lease: Lease,
  { reason, by }: { readonly reason: string; readonly by: string },
): Promise<Step> {
  const { clock, random, waypoint } = checkout
  const id = newId('rfd', random)
  const refund: Refund = {
    id,
    amount: order.amount,
    to: order.payer,
    reason,
    by,
    transaction: null,
    createdAt: clock.now(),
    completedAt: null,
  }
  const next = await moveRefund(checkout, offer, order, lease, { to: 'refunding', refund })
  await waypoint('refund.created')
  return next
}

async function refund(checkout: Checkout, offer: Offer, order: Order, lease: Lease): Promise<Step> {
  const { orders, clock, log, waypoint } = checkout
  if (order.refund === null) throw new TypeError(`order ${order.id} is refunding without a refund`)
  const outcome = await offer.rail.refund(order, lease)
  await waypoint('refund.done')
  if (outcome.kind === 'pending') {
    log.warn('refund is not through yet', { orderId: order.id, detail: outcome.detail })
    const counted = await orders.countAttempt(lease, order)
    return counted
      ? {
          kind: 'waiting',
          order: counted,
          waitMs: backOff(clock.now() - order.refund.createdAt),
          detail: outcome.detail,
        }
      : { kind: 'lost' }
  }
  const done: Refund = { ...order.refund, transaction: outcome.transaction, completedAt: clock.now() }
  const next = await moveRefund(checkout, offer, order, lease, { to: 'refunded', refund: done })
  await waypoint('order.refunded')
  return next
}

type Move = Omit<Change, 'at' | 'release' | 'isLast'>

function move(checkout: Checkout, offer: Offer, order: Order, lease: Lease, to: Move): Promise<Step> {
  return apply(checkout, offer, order, lease, completed(checkout, to))
}

/** The receipt and the final answer are written in the same statement as the state they belong to. */
async function confirm(checkout: Checkout, offer: Offer, order: Order, lease: Lease, to: Move): Promise<Step> {
  const change = completed(checkout, to)
  const receipt = checkout.receipts.sign(offer, changed(order, change))
  const answer = answerOf(offer, changed(order, { ...change, receipt }))
  return apply(checkout, offer, order, lease, { ...change, receipt, answer })
}

/** The one place where an order changes its state: with the state go its event, its holds and its job. */
async function apply(checkout: Checkout, offer: Offer, order: Order, lease: Lease, change: Change): Promise<Step> {
  const next = await checkout.orders.change(lease, order, change, eventOf(offer, changed(order, change)))
  return stepTo(checkout, next)
}

function stepTo({ meter, log }: Checkout, next: Order | null): Step {
  if (next === null) return { kind: 'lost' }
  log.info('order moved', { orderId: next.id, flowId: next.flowId, status: next.status })
  meter.moved(next)
  return { kind: isFinal(next.status) ? 'ended' : 'moved', order: next }
}

async function moveRefund(
  checkout: Checkout,
  offer: Offer,
  order: Order,
  lease: Lease,
  to: Move & { readonly refund: Refund },
): Promise<Step> {
  const change = { ...completed(checkout, to), refund: to.refund }
  const next = await checkout.orders.changeRefund(lease, order, change, eventOf(offer, changed(order, change)))
  return stepTo(checkout, next)
}

function completed({ clock }: Checkout, to: Move): Change {
  const released = to.to === 'confirmed' ? 'unkept' : to.to === 'failed' || to.to === 'expired' ? 'all' : 'none'
  return { ...to, at: clock.now(), release: released, isLast: isFinal(to.to) }
}

function eventOf(offer: Offer, order: Order) {
  return { type: eventTypeOf(order.surface, order.status), data: offer.present(viewOf(offer, order)) }
}

function buyerOf(order: Order, lease: Lease): Buyer {
  const { id, payer, network, settlement, createdAt, attempts } = order
  if (settlement === null) throw new TypeError(`order ${id} is not settled`)
  return {
    orderId: id,
    payer,
    paymentTx: settlement.transaction,
    network,
    settledAt: settlement.settledAt,
    openedAt: createdAt,
    attempts,
    lease,
  }
}

/** Often while it is young, seldom when it is old: an eighth of its age. */
function backOff(ageMs: number): number {
  return Math.min(POLL_MS_MAX, Math.max(POLL_MS, ageMs / 8))
}
