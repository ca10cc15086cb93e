import { Problem } from '../base/problem.ts'
import { offerKey } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import { beginRefund } from './advance.ts'
import type { Checkout } from './checkout.ts'
import { runShared } from './run.ts'

export type RefundRequest = {
  /** Told to the buyer. */
  readonly reason: string
  /** Who decided it. */
  readonly by: string
}

/**
 * An operator sends the money of an order back that was delivered, or that failed and waits for a person: all of it, in the asset and on the chain it came from, to the payer that was
 * verified. An order that is still moving is refused: until delivery has ended nobody knows that the goods will not come as well, and
 * one that fails is refunded without anybody asking. Returns the order as far as it came; the worker brings it to its end.
 */
export async function refundOrder(checkout: Checkout, orderId: string, request: RefundRequest): Promise<Order> {
  const { orders, jobs, limits, clock } = checkout
  const order = await orders.byId(orderId)
  if (!order) throw new Problem('order_not_found', `There is no order ${orderId.slice(0, 40)}.`)
  const objection = objectionTo(order)
  if (objection) throw refused(order, objection)
  const offer = checkout.offers.get(offerKey(order))
  if (!offer) throw refused(order, `This configuration has nothing of ${order.rail} on ${order.network} any more.`)
  const lease = await jobs.begin(orderId, limits.leaseSeconds)
  if (!lease) throw refused(order, 'Somebody is refunding it right now.')
  const step = await beginRefund({ checkout, offer, order, lease }, request)
  if (step.kind !== 'moved') {
    if (order.status === 'confirmed') await jobs.forget(lease)
    throw refused(order, 'It changed while the refund began; look at it again.')
  }
  return runShared(checkout, { order: step.order, lease }, { untilMs: clock.now() + limits.waitMsMax })
}

function objectionTo({ status, refund }: Order): string | null {
  switch (status) {
    case 'confirmed':
    // It waits for a person, or its refund begins this very moment and the lease is taken.
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
