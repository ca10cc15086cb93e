import { newId } from '../base/id.ts'
import { AUTOMATIC, type Refund } from '../domain/order.ts'
import { decideRefund, sendRefund } from '../ledger/refund.ts'
import type { RefundChange } from '../store/orders/change.ts'
import type { RefundBudget } from '../store/refund-budget.ts'
import { backOff, moveRefund, type OrderRun, type OrderStep, POLL_MS_MAX } from './order-step.ts'
import { paidWords } from './paid-words.ts'

/** An order that waits for an operator is looked at again after so long; a decision makes it due at once. */
const PERSON_MS = 3_600_000

/** Its payment may come back into the chain for so long; after that a person decides. */
const SHOWN_AGAIN_MS = 3_600_000

/** No operator asked for this refund, so it has bounds. */
export async function refundByItself(run: OrderRun): Promise<OrderStep> {
  const { checkout, offer, order } = run
  const { id, payer, funds, failure, settlement } = order
  const { refundsPerPayer: count } = checkout.limits
  return decideRefund(checkout, {
    rail: offer.rail,
    paid: order,
    byBuyer: failure?.byBuyer === true,
    // Captured money cannot be refused beforehand, so a payer who is refunded too often waits here.
    perPayer: funds === 'captured' ? { payer, count } : null,
    begin: (budget) => beginRefund(run, { reason: failure?.detail ?? 'delivery failed', by: AUTOMATIC, budget }),
    hold: (reason) => forAPerson(run, reason),
    async wait(detail) {
      if (settlement === null) throw new TypeError(`order ${id} failed and was never paid`)
      const isLost = checkout.clock.now() - settlement.settledAt > SHOWN_AGAIN_MS
      return isLost ? forAPerson(run, detail) : postpone(run, detail, POLL_MS_MAX)
    },
  })
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
    name: (await checkout.orders.paymentName(order)) ?? order.id,
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

export async function finishRefund(run: OrderRun): Promise<OrderStep> {
  const { checkout, offer, order, lease } = run
  const { orders, clock, log, waypoint } = checkout
  const { refund } = order
  if (refund === null) throw new TypeError(`order ${order.id} is refunding without a refund`)
  return sendRefund<OrderStep>({
    rail: offer.rail,
    paid: order,
    lease,
    ...refund,
    async wait(detail) {
      await waypoint('refund.done')
      log.warn('refund is pending', { orderId: order.id, detail })
      const counted = await orders.countAttempt(run, paidWords(detail))
      const waitMs = backOff(clock.now() - refund.createdAt)
      return counted ? { kind: 'waiting', order: counted, waitMs, detail } : { kind: 'lost' }
    },
    async finish(transaction) {
      await waypoint('refund.done')
      const done: Refund = { ...refund, transaction, completedAt: clock.now() }
      const next = await moveRefund(run, { to: 'refunded', refund: done })
      await waypoint('order.refunded')
      return next
    },
  })
}
