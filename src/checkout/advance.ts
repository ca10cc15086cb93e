import { isProblem } from '../base/problem.ts'
import { assertPassed, type Buyer, type Delivery } from '../domain/good.ts'
import { type Offer, offerKey, type Told } from '../domain/offer.ts'
import type { Failure, Order } from '../domain/order.ts'
import type { SettleOutcome } from '../domain/rail.ts'
import type { Checkout } from './checkout.ts'
import {
  backOff,
  confirm,
  move,
  type OrderInHand,
  type OrderRun,
  type OrderStep,
  POLL_MS,
  POLL_MS_MAX,
} from './order-step.ts'
import { paidError, paidWords, reasonOf } from './paid-words.ts'
import { finishRefund, refundByItself } from './refund-steps.ts'

/**
 * Carries an order one step further, from whatever state a request, a crash or another process left it in. The request that opened the
 * order calls it first; the worker calls the very same function for any order without a lease. Recovery is not a second path.
 */
export async function advance(checkout: Checkout, inHand: OrderInHand): Promise<OrderStep> {
  const { order, lease } = inHand
  const run: OrderRun = { ...inHand, checkout, offer: offerOf(checkout, order) }
  switch (order.status) {
    case 'settling':
      return settle(run)
    case 'settled':
      return order.plan === null ? plan(run) : deliver(run)
    case 'submitted':
      return deliver(run)
    case 'failed':
      return refundByItself(run)
    case 'refunding':
      return finishRefund(run)
    case 'confirmed':
    case 'refunded':
    case 'expired':
      // A process took it up again, and died before it changed anything.
      await checkout.jobs.forget(lease)
      return { kind: 'ended', order }
  }
}

/** The order's offer; of one that is not configured any more, what the records tell. */
export function toldBy(checkout: Checkout, order: Order): Told {
  return checkout.offers.get(offerKey(order)) ?? checkout.byRecords(order)
}

/** The offer that an order was opened under. A shop that no longer sells it keeps it until the last of its orders has ended. */
function offerOf({ offers }: Checkout, order: Order): Offer {
  const offer = offers.get(offerKey(order))
  if (!offer) throw new Error(`order ${order.id} is for ${offerKey(order)}, which this shop does not know`)
  return offer
}

async function settle(run: OrderRun): Promise<OrderStep> {
  const { checkout, offer, order, lease } = run
  const { waypoint } = checkout
  await waypoint('settle.begun')
  const outcome = await offer.rail.settle(order, lease).catch((error) => unknownOutcome(checkout, order, error))
  await waypoint('settle.done')
  switch (outcome.kind) {
    case 'settled': {
      const { transaction, settledAt } = outcome.settlement
      const next = await move(run, { to: 'settled', paymentTx: transaction, settledAt })
      await waypoint('order.settled')
      // Until this moment it was not paid, so no replica can have begun to deliver it; from now on only the holder of this lease can.
      return next.kind === 'moved' ? { ...next, isUntried: true } : next
    }
    case 'refused': {
      const { code, detail } = outcome
      const next = await move(run, { to: 'expired', failure: { code, detail } })
      await waypoint('order.expired')
      return next
    }
    case 'unknown':
      return stillSettling(run, outcome)
  }
}

async function stillSettling(run: OrderRun, outcome: SettleOutcome & { kind: 'unknown' }): Promise<OrderStep> {
  const { checkout, order } = run
  const { orders, clock, limits } = checkout
  const age = clock.now() - order.createdAt
  const doubtful = await orders.markInDoubt(run, paidWords(outcome.detail))
  if (!doubtful) return { kind: 'lost' }
  const keepsGoods = order.plan !== null && order.funds === 'authorized'
  const isIdle = keepsGoods && !outcome.isSeen && (outcome.hasFailed || age > limits.holdMsMax)
  const next = isIdle ? await orders.letGo({ ...run, order: doubtful }) : doubtful
  return next ? { kind: 'waiting', order: next, waitMs: backOff(age), detail: outcome.detail } : { kind: 'lost' }
}

/** Whatever the error was, money may have moved: only a later attempt can tell. */
function unknownOutcome(checkout: Checkout, order: Order, error: unknown): SettleOutcome & { kind: 'unknown' } {
  checkout.log.warn('settlement attempt ended without an answer', { orderId: order.id, error: paidError(error) })
  return { kind: 'unknown', detail: reasonOf(error) }
}

/** So long captured money waits for a shop that cannot deliver; then it goes back. */
const PLAN_MS_MAX = 30 * 60_000

/** For captured money, which came before `check` could be asked: asks now, and sends it back when the answer is no. */
async function plan(run: OrderRun): Promise<OrderStep> {
  const { checkout, offer, order } = run
  if (order.objection) return fail(run, order.objection)
  try {
    const checked = await offer.good.check(order.input, order.payer)
    assertPassed(checked)
    const { gasAtRisk = 0n } = checked
    const gas = { gasAtRisk, gasPerHour: checkout.limits.gasPerHour }
    const outcome = await checkout.orders.setPlan(run, { ...checked, gas })
    if (outcome.kind === 'lost') return { kind: 'lost' }
    const { isUntried } = run
    if (outcome.kind === 'set') return { kind: 'moved', order: outcome.order, isUntried }
    if (outcome.isStale) return { kind: 'moved', order, isUntried }
    return (await handedOver(run)) ?? fail(run, outcome.refusal)
  } catch (error) {
    // A refusal is final; an outage is not, but the payer is not made to wait for ever for its end.
    if (!isProblem(error) || error.status >= 500) {
      if (checkout.clock.now() - (order.settlement?.settledAt ?? order.createdAt) < PLAN_MS_MAX) throw error
      return fail(run, { code: 'fulfilment_failed', detail: 'The shop could not deliver it in time.' })
    }
    return (await handedOver(run)) ?? fail(run, { code: error.code, detail: error.message })
  }
}

/** A restored store has forgotten deliveries that the chain and the game remember. Null: there was none. */
async function handedOver(run: OrderRun): Promise<OrderStep | null> {
  const { checkout, offer, order } = run
  const plan = (await offer.good.recall?.(order.input, order.id)) ?? null
  if (plan === null) return null
  const outcome = await checkout.orders.setPlan(run, { plan, holds: [] })
  return outcome.kind === 'set' ? { kind: 'moved', order: outcome.order } : { kind: 'lost' }
}

async function deliver(run: OrderRun): Promise<OrderStep> {
  const { checkout, offer, order } = run
  const { waypoint } = checkout
  if (order.plan === null) throw new TypeError(`order ${order.id} has no plan`)
  await waypoint('deliver.begun')
  const delivery = await offer.good
    .deliver(order.input, order.plan, buyerOf(run))
    .catch((error) => undelivered(checkout, order, error))
  await waypoint('deliver.done')
  switch (delivery.state) {
    case 'delivered': {
      const { result, transaction, landed } = delivery
      const next = await confirm(run, { to: 'confirmed', result, deliveryTx: transaction, landed })
      await waypoint('order.confirmed')
      return next
    }
    case 'impossible':
      return fail(run, delivery, delivery.proof?.sends)
    case 'pending':
      return stillDelivering(run, delivery)
  }
}

async function stillDelivering(run: OrderRun, delivery: Delivery & { state: 'pending' }): Promise<OrderStep> {
  const { checkout, order } = run
  const { transaction: deliveryTx, retryAfterMs: waitMs, detail } = delivery
  const counted = await checkout.orders.countAttempt(run, paidWords(detail))
  if (!counted) return { kind: 'lost' }
  if (deliveryTx === undefined || order.status === 'submitted')
    return { kind: 'waiting', order: counted, waitMs, detail }
  const next = await move({ ...run, order: counted }, { to: 'submitted', deliveryTx })
  await checkout.waypoint('order.submitted')
  return next.kind === 'moved' ? { kind: 'waiting', order: next.order, waitMs, detail } : next
}

/** A delivery that threw may have happened; it is idempotent, so it is tried again. */
function undelivered(checkout: Checkout, order: Order, error: unknown): Delivery {
  const { id: orderId, attempts } = order
  checkout.log.warn('delivery attempt ended without an answer', { orderId, attempts, error: paidError(error) })
  return {
    state: 'pending',
    detail: reasonOf(error),
    retryAfterMs: Math.min(POLL_MS_MAX, POLL_MS * 2 ** Math.min(order.attempts, 10)),
  }
}

async function fail(run: OrderRun, { code, detail, byBuyer }: Failure, sends?: number): Promise<OrderStep> {
  const { checkout, order } = run
  // Whatever has a reason of its own lies with the request.
  const isBuyers = byBuyer || code !== 'fulfilment_failed'
  const failure: Failure = { code, detail: paidWords(detail), ...(isBuyers ? { byBuyer: true } : {}) }
  checkout.log.error('delivery is impossible; the money goes back', { orderId: order.id, ...failure })
  const next = await move(run, { to: 'failed', failure, sends })
  await checkout.waypoint('order.failed')
  return next
}

function buyerOf({ order, lease, isUntried }: OrderRun): Buyer {
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
    isUntried,
  }
}
