import { sameAddress } from '../base/address.ts'
import { countdown } from '../base/clock.ts'
import { formatUsd, usd } from '../base/money.ts'
import { Problem } from '../base/problem.ts'
import { pollUntil } from '../chain/receipt.ts'
import { offerKey } from '../domain/offer.ts'
import type { Order, OrderStatus } from '../domain/order.ts'
import type { RefundChange } from '../store/orders/change.ts'
import type { Checkout } from './checkout.ts'
import { beginRefund } from './refund-steps.ts'
import { runShared } from './run.ts'

type RefundRequest = Pick<RefundChange, 'alongside'> & {
  /** The buyer reads it. */
  readonly reason: string
  /** The operator who decided it. */
  readonly by: string
  /** A request with the same key again is answered with the refund that the first one began. */
  readonly key?: string | null
  /** What the operator saw. If the order is different by now, nothing is sent. */
  readonly expect?: RefundFacts | undefined
}

/** What an operator is shown before they confirm. */
export type RefundFacts = { readonly status: OrderStatus; readonly amount: string; readonly to: string }

/**
 * An operator refunds an order that was delivered, or that failed and waits for a decision: all of it, in the asset and on the chain it came from, to
 * the payer that was verified. An order that is still moving is refused: until delivery has ended the goods may come as well, and an order that fails
 * is refunded automatically. Returns the order as far as it came; the worker brings it to its end.
 */
export async function refundOrder(checkout: Checkout, orderId: string, request: RefundRequest): Promise<Order> {
  const { orders, jobs, limits, clock } = checkout
  const order = await orders.byId(orderId)
  if (!order) throw new Problem('order_not_found', `There is no order ${orderId.slice(0, 40)}.`)
  if (isSame(order, request)) return order
  assertExpected(order, request)
  const objection = refundObjection(order)
  if (objection) throw refused(order, objection)
  const offer = checkout.offers.get(offerKey(order))
  if (!offer) throw refused(order, `This configuration has nothing of ${order.rail} on ${order.network} any more.`)
  const lease = await jobs.begin(orderId, limits.leaseSeconds)
  if (!lease) return twinOf(checkout, order, request)
  const letGo = async () => {
    if (order.status === 'confirmed') await jobs.forget(lease)
  }
  const step = await beginRefund({ checkout, offer, order, lease }, request).catch(async (error: unknown) => {
    // The refund did not begin: the lease is given back, so that nothing waits until it runs out.
    await letGo()
    throw error
  })
  if (step.kind !== 'moved') {
    await letGo()
    throw refused(order, 'It changed while the refund began; look at it again.')
  }
  return runShared(checkout, { order: step.order, lease }, { left: countdown(clock, limits.waitMsMax) })
}

function isSame({ refund }: Order, { key }: RefundRequest): boolean {
  return key != null && refund?.key === key
}

/** Another request has the lease. When it is the same one, sent twice, both get the same answer. */
async function twinOf({ clock, limits, orders }: Checkout, order: Order, request: RefundRequest): Promise<Order> {
  const seen =
    request.key == null
      ? null
      : await pollUntil(clock, limits.waitMsMax, async () => {
          const now = await orders.byId(order.id)
          return now && (isSame(now, request) || now.refund) ? now : null
        })
  if (seen && isSame(seen, request)) return seen
  throw refused(order, 'Somebody is at work on it right now.')
}

function assertExpected(order: Order, { expect }: RefundRequest): void {
  if (!expect) return
  const now = factsOf(order)
  if (expect.status === now.status && expect.amount === now.amount && sameAddress(expect.to, now.to)) return
  throw new Problem('changed_meanwhile', `Order ${order.id} is not as it was; nothing was sent. Look at it again.`, {
    members: { now },
  })
}

function factsOf({ status, amount, payer }: Order): RefundFacts {
  return { status, amount: formatUsd(usd(amount)), to: payer }
}

/** Why nothing can be sent back now; null: it can. */
export function refundObjection({ status, refund }: Order): string | null {
  switch (status) {
    case 'confirmed':
    // It waits for an operator; or its automatic refund begins at this moment, and then the lease is taken.
    case 'failed':
      return null
    case 'refunded':
      return `It was refunded already, by transaction ${refund?.transaction}.`
    case 'refunding':
      return 'Its refund is on the way already.'
    case 'expired':
      return 'Its payment never landed; nothing was taken.'
    case 'settling':
      return 'Nobody knows yet whether its payment landed.'
    case 'settled':
    case 'submitted':
      return 'Its delivery is under way; if that fails, the money goes back by itself.'
  }
}

function refused({ id }: Order, why: string): Problem {
  return new Problem('refund_refused', `Order ${id} is not refunded: ${why}`)
}
