import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import { isFinal, type Order, statuses } from '../../domain/order.ts'
import type { GameVerdict } from '../../store/game/calls.ts'
import type { OrderFilter } from '../../store/orders/orders.ts'
import type { Timeline } from '../../store/orders/timeline.ts'
import { type OperatorRoute, operator } from './route.ts'

/** What operators may see of the book of purchases, what they may hurry, and what only they can know. */
type OrderContext = {
  list(filter: OrderFilter): Promise<readonly Order[]>
  timeline(reference: string): Promise<Timeline | null>
  /** Makes an order due now. False when somebody is at work on it. */
  hurry(orderId: string): Promise<boolean>
  decide(orderId: string, outcome: GameVerdict, by: string): Promise<Decision>
}

/** `too_early`: the request may still reach the game. `nothing_to_decide`: no such delivery, or somebody decided before. */
export type Decision = 'taken' | 'too_early' | 'nothing_to_decide'

const LIMIT = 50
const LIMIT_MAX = 500

const reference = z.strictObject({ id: z.string().min(1).max(128) })

export function orderRows({ list, timeline, hurry, decide }: OrderContext): readonly OperatorRoute[] {
  async function find(id: string): Promise<Timeline> {
    const found = await timeline(id)
    if (!found) throw new Problem('order_not_found', `There is no order ${id.slice(0, 80)}.`)
    return found
  }
  return [
    operator('GET /operator/orders', {
      summary: 'Orders, newest first',
      query: z.strictObject({
        status: z.enum(statuses as [Order['status'], ...Order['status'][]]).optional(),
        open: z.enum(['true', 'false']).optional().describe('true: only those that still move'),
        before: z.iso.datetime().optional().describe('Only those created earlier: the next page'),
        limit: z.coerce.number().int().min(1).max(LIMIT_MAX).default(LIMIT),
      }),
      handle: async ({ query }) => ({ body: { orders: (await list(filterOf(query))).map(presentOrder) } }),
    }),
    operator('GET /operator/orders/{id}', {
      summary: 'One order with its whole timeline, by anything that names it',
      params: reference,
      handle: async ({ params }) => ({ body: presentTimeline(await find(params.id)) }),
    }),
    operator('POST /operator/orders/{id}/retry', {
      summary: 'Go on with an order now instead of at its next turn',
      params: reference,
      handle: async ({ params }) => {
        const { id: orderId, status } = (await find(params.id)).order
        return { body: { orderId, status, isDue: !isFinal(status) && (await hurry(orderId)) } }
      },
    }),
    operator('POST /operator/orders/{id}/decide', {
      summary: 'Tell what was found out about a delivery that the game itself cannot judge',
      params: reference,
      body: z.strictObject({ outcome: z.enum(['delivered', 'not_delivered']), by: z.string().min(1).max(100) }),
      handle: async ({ params, body }) => {
        const { id: orderId, status } = (await find(params.id)).order
        const decision = isFinal(status) ? 'nothing_to_decide' : await decide(orderId, body.outcome, body.by)
        if (decision === 'taken') await hurry(orderId)
        return { body: { orderId, status, decision } }
      },
    }),
  ]
}

type OrderQuery = {
  readonly status?: Order['status'] | undefined
  readonly open?: 'true' | 'false' | undefined
  readonly before?: string | undefined
  readonly limit: number
}

export function filterOf({ status, open, before, limit }: OrderQuery): OrderFilter {
  const wanted = status ? [status] : open === 'true' ? statuses.filter((status) => !isFinal(status)) : null
  return {
    limit,
    ...(wanted ? { statuses: wanted } : {}),
    ...(before === undefined ? {} : { before: Date.parse(before) }),
  }
}

/** As the people who run the shop see it: all that is known, but nothing that could be presented as a payment. */
export function presentOrder(order: Order): JsonObject {
  const { refund, settlement } = order
  return {
    orderId: order.id,
    flowId: order.flowId,
    status: order.status,
    surface: order.surface,
    good: order.good,
    protocol: order.rail,
    input: order.input,
    payer: order.payer,
    network: order.network,
    amount: formatUsd(usd(order.amount)),
    payTo: order.payTo,
    paymentTx: settlement?.transaction ?? null,
    settledAt: settlement ? isoTime(settlement.settledAt) : null,
    deliveryTx: order.deliveryTx,
    attempts: order.attempts,
    isInDoubt: order.inDoubt,
    failure: order.failure && { ...order.failure },
    refund: refund && {
      refundId: refund.id,
      amount: formatUsd(usd(refund.amount)),
      to: refund.to,
      reason: refund.reason,
      by: refund.by,
      transaction: refund.transaction,
      completedAt: refund.completedAt === null ? null : isoTime(refund.completedAt),
    },
    result: order.result,
    receipt: order.receipt,
    createdAt: isoTime(order.createdAt),
    updatedAt: isoTime(order.updatedAt),
  }
}

export function presentTimeline({ order, events, sends }: Timeline): JsonObject {
  return {
    order: presentOrder(order),
    events: events.map(({ sequence, type, at }) => ({ sequence, type, at: isoTime(at) })),
    // The signed bytes stay in the store: whoever reads this has no use for them.
    sends: sends.map(({ chainId, signer, nonce, step, call, versions }) => ({
      step,
      chainId,
      signer,
      nonce,
      to: call.to,
      transactions: versions.map(({ hash, isVoid }) => ({ hash, isVoid })),
    })) as unknown as Json,
  }
}
