import { eventTypeOf } from '../domain/event.ts'
import type { Buyer } from '../domain/good.ts'
import { type Offer, viewOf } from '../domain/offer.ts'
import { isFinal, type LeasedOrder, type Order } from '../domain/order.ts'
import { changed, type OrderChange, type RefundChange } from '../store/orders/change.ts'
import { answerOf } from './answer.ts'
import type { Checkout } from './checkout.ts'

/** An order with its lease, and what the previous step of this process learned about it. */
export type OrderInHand = LeasedOrder & Pick<Buyer, 'isUntried'>

/** An order, and everything that a step of it needs. */
export type OrderRun = OrderInHand & { readonly checkout: Checkout; readonly offer: Offer }

export type OrderStep =
  /** `isUntried` holds for the next step only; that step has to say it again for the one after it. */
  | ({ readonly kind: 'moved'; readonly order: Order } & Pick<Buyer, 'isUntried'>)
  /** Nothing to do before `waitMs` have passed. */
  | { readonly kind: 'waiting'; readonly order: Order; readonly waitMs: number; readonly detail: string }
  | { readonly kind: 'ended'; readonly order: Order }
  /** The lease is lost: another process works on it now. */
  | { readonly kind: 'lost' }

type Move = Omit<OrderChange, 'at' | 'release' | 'isLast'>

export function move(run: OrderRun, to: Move): Promise<OrderStep> {
  return apply(run, completed(run, to))
}

/** The receipt and the final answer are written in the same statement as the state they belong to. */
export async function confirm(run: OrderRun, to: Move): Promise<OrderStep> {
  const { checkout, offer, order } = run
  const change = completed(run, to)
  const receipt = checkout.receipts.sign(offer, changed(order, change))
  const answer = answerOf(offer, changed(order, { ...change, receipt }))
  return apply(run, { ...change, receipt, answer })
}

/** The one place where an order changes its state: with the state go its event, its holds and its job. */
async function apply(run: OrderRun, change: OrderChange): Promise<OrderStep> {
  const { checkout, offer, order } = run
  const next = await checkout.orders.change(run, change, eventOf(offer, changed(order, change)))
  return stepTo(checkout, next)
}

function stepTo({ meter, log }: Checkout, next: Order | null): OrderStep {
  if (next === null) return { kind: 'lost' }
  log.info('order moved', { orderId: next.id, flowId: next.flowId, status: next.status })
  meter.moved(next)
  return { kind: isFinal(next.status) ? 'ended' : 'moved', order: next }
}

type RefundMove = Move & Pick<RefundChange, 'refund' | 'budget' | 'alongside'>

export async function moveRefund(run: OrderRun, to: RefundMove): Promise<OrderStep> {
  const { checkout, offer, order } = run
  const { refund, budget, alongside } = to
  const change = { ...completed(run, to), refund, budget, alongside }
  const next = await checkout.orders.changeRefund(run, change, eventOf(offer, changed(order, change)))
  return stepTo(checkout, next)
}

function completed({ checkout }: OrderRun, to: Move): OrderChange {
  const released = to.to === 'confirmed' ? 'unkept' : to.to === 'failed' || to.to === 'expired' ? 'all' : 'none'
  return { ...to, at: checkout.clock.now(), release: released, isLast: isFinal(to.to) }
}

function eventOf(offer: Offer, order: Order) {
  return { type: eventTypeOf(offer.good.subject, order.status), data: offer.present(viewOf(offer, order)) }
}

export const POLL_MS = 500
export const POLL_MS_MAX = 30_000

/** Often while it is young, seldom when it is old: an eighth of its age. */
export function backOff(ageMs: number): number {
  return Math.min(POLL_MS_MAX, Math.max(POLL_MS, ageMs / 8))
}
