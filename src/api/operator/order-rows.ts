import * as z from 'zod'
import { Problem } from '../../base/problem.ts'
import { isFinal } from '../../domain/order.ts'
import type { GameVerdict } from '../../store/game/calls.ts'
import type { Timeline } from '../../store/orders/timeline.ts'
import { type OrderBook, orderPage, orderQuery, orderTable } from './order-query.ts'
import { presentTimeline } from './order-timeline.ts'
import { type OperatorRoute, operator } from './route.ts'

/** What operators may see of the book of purchases, what they may hurry, and what only they can know. */
type OrderContext = OrderBook & {
  timeline(reference: string): Promise<Timeline | null>
  /** Makes an order due now. False when somebody is at work on it. */
  hurry(orderId: string): Promise<boolean>
  decide(orderId: string, outcome: GameVerdict, by: string): Promise<Decision>
}

/** `too_early`: the request may still reach the game. `nothing_to_decide`: no such delivery, or somebody decided before. */
export type Decision = 'taken' | 'too_early' | 'nothing_to_decide'

const reference = z.strictObject({ id: z.string().min(1).max(128) })

export function orderRows(desk: OrderContext): readonly OperatorRoute[] {
  const { timeline, hurry, decide } = desk
  async function find(id: string): Promise<Timeline> {
    const found = await timeline(id)
    if (!found) throw new Problem('order_not_found', `There is no order ${id.slice(0, 80)}.`)
    return found
  }
  return [
    operator('GET /operator/orders', {
      role: 'viewer',
      summary: 'Orders, newest first; as a page, or all of them with Accept: text/csv',
      query: orderQuery,
      handle: async ({ query, header }) => {
        const { format = /\btext\/csv\b/.test(header('accept') ?? '') ? 'csv' : 'json' } = query
        return format === 'csv'
          ? { body: await orderTable(desk, query), contentType: 'text/csv; charset=utf-8' }
          : { body: await orderPage(desk, query) }
      },
    }),
    operator('GET /operator/orders/{id}', {
      role: 'viewer',
      summary: 'One order with its whole timeline, by anything that names it',
      params: reference,
      handle: async ({ params }) => ({ body: presentTimeline(await find(params.id)) }),
    }),
    operator('POST /operator/orders/{id}/retry', {
      role: 'support',
      summary: 'Go on with an order now instead of at its next turn',
      params: reference,
      handle: async ({ params }) => {
        const { id: orderId, status } = (await find(params.id)).order
        return { body: { orderId, status, isDue: !isFinal(status) && (await hurry(orderId)) } }
      },
    }),
    operator('POST /operator/orders/{id}/decide', {
      role: 'support',
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
