import { newId } from '../base/id.ts'
import { AUTOMATIC, type Refund } from '../domain/order.ts'
import { buyersShare } from '../ledger/arrival-return.ts'
import type { RefundChange } from '../store/orders/change.ts'
import { type RefundBudget, RefundsUsedUp } from '../store/refund-budget.ts'
import { backOff, moveRefund, type OrderRun, type OrderStep, POLL_MS_MAX } from './order-step.ts'
import { paidWords } from './paid-words.ts'

/** An order that waits for an operator is looked at again after so long; a decision makes it due at once. */
const PERSON_MS = 3_600_000

/**
 * No operator asked for this refund, so it has bounds: an operator decides when the payer is blocked, when the chain took the payment back, or
 * when the refunds of a day are used up.
 */
export async function refundByItself(run: OrderRun): Promise<OrderStep> {
  const { checkout, offer, order } = run
  if (await checkout.isBlocked(order.payer)) return forAPerson(run, 'Its payer is blocked.')
  const missing = await checkout.orders.missingPayment(order.id)
  if (missing === 'lost')
    return forAPerson(run, 'The chain dropped its payment for good: there is no money to send back.')
  if (missing === 'open') return postpone(run, 'The chain does not show its payment at this moment.', POLL_MS_MAX)
  if (!(await offer.rail.isPaymentShown(order)))
    return postpone(run, 'The chain, and each of two nodes, has to show its payment before it goes back.', POLL_MS_MAX)
  const { refundsPerDay: perDay, refundsPerPayer: count, receiverRefundPercent: percent } = checkout.limits
  // Captured money cannot be refused beforehand, so a payer who is refunded too often waits here.
  const perPayer = order.funds === 'captured' ? { payer: order.payer, count } : null
  const reason = order.failure?.detail ?? 'delivery failed'
  const byBuyers = order.failure?.byBuyer ? await buyersShare(offer.rail, order, percent) : null
  try {
    return await beginRefund(run, { reason, by: AUTOMATIC, budget: { perDay, perPayer, byBuyers } })
  } catch (error) {
    if (error instanceof RefundsUsedUp) return forAPerson(run, error.message)
    throw error
  }
}

async function forAPerson(run: OrderRun, detail: string): Promise<OrderStep> {
  const { checkout, order } = run
  checkout.log.error('refund waits for an operator to decide', {
    orderId: order.id,
    amount: order.amount,
    reason: detail,
  })
  const held = await checkout.orders.holdRefund(run, detail)
  return held ? { kind: 'waiting', order: held, waitMs: PERSON_MS, detail } : { kind: 'lost' }
}

async function postpone(run: OrderRun, detail: string, waitMs: number): Promise<OrderStep> {
  const noted = await run.checkout.orders.noteTry(run, detail)
  return noted ? { kind: 'waiting', order: noted, waitMs, detail } : { kind: 'lost' }
}

type RefundBegun = Pick<RefundChange, 'alongside'> & {
  readonly reason: string
  readonly by: string
  readonly budget?: RefundBudget
  readonly key?: string | null
}

/** Also what an operator's refund of a confirmed order begins with. */
export async function beginRefund(
  run: OrderRun,
  { reason, by, budget, key = null, alongside }: RefundBegun,
): Promise<OrderStep> {
  const { checkout, order } = run
  const { clock, random, waypoint } = checkout
  const refund: Refund = {
    id: newId('rfd', random),
    amount: order.amount,
    to: order.payer,
    reason,
    by,
    key,
    transaction: null,
    createdAt: clock.now(),
    completedAt: null,
  }
  const next = await moveRefund(run, { to: 'refunding', refund, budget, alongside })
  await waypoint('refund.created')
  return next
}

export async function sendRefund(run: OrderRun): Promise<OrderStep> {
  const { checkout, offer, order, lease } = run
  const { orders, clock, log, waypoint } = checkout
  if (order.refund === null) throw new TypeError(`order ${order.id} is refunding without a refund`)
  const isByItself = order.refund.by === AUTOMATIC
  const outcome = await offer.rail.refund(order, {
    lease,
    name: (await orders.paymentName(order)) ?? order.id,
    stillOwed: async () => !isByItself || offer.rail.isPaymentShown(order),
  })
  await waypoint('refund.done')
  if (outcome.kind === 'pending') {
    const { detail } = outcome
    log.warn('refund is pending', { orderId: order.id, detail })
    const counted = await orders.countAttempt(run, paidWords(detail))
    const waitMs = backOff(clock.now() - order.refund.createdAt)
    return counted ? { kind: 'waiting', order: counted, waitMs, detail } : { kind: 'lost' }
  }
  const done: Refund = { ...order.refund, transaction: outcome.transaction, completedAt: clock.now() }
  const next = await moveRefund(run, { to: 'refunded', refund: done })
  await waypoint('order.refunded')
  return next
}
