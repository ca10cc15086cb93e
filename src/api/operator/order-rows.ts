import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { mayAct, type Operator, type Role } from '../../domain/operator.ts'
import { isFinal, type Order } from '../../domain/order.ts'
import type { Doer } from '../../store/deeds.ts'
import type { GameVerdict } from '../../store/game/calls.ts'
import type { Timeline } from '../../store/orders/timeline.ts'
import { type OrderListing, orderPage, orderQuery, orderTable } from './order-query.ts'
import { type ExplorerLink, presentTimeline } from './order-timeline.ts'
import { type OperatorRoute, operator } from './route.ts'
import { isTableAsked, TABLE_TYPE } from './table.ts'

/** What operators may see of the book of purchases, what they may hurry, and what only they can know. */
type OrderContext = OrderListing & {
  timeline(reference: string): Promise<Timeline | null>
  byId(id: string): Promise<Order | null>
  readonly link: ExplorerLink
  /** What the buyer is told now: the answer of `/payments/{id}`. */
  buyerView(order: Order): Promise<JsonObject>
  /** Makes an order due now, with the deed. False when somebody is at work on it. */
  hurry(order: Order, doer: Doer): Promise<boolean>
  decide(order: Order, decided: DecidedDelivery): Promise<Decision>
  /** Why the money cannot go back, or the delivery not be decided about; null: it can. */
  refundObjection(order: Order): string | null
  decideObjection(order: Order): Promise<string | null>
  note(order: Order, doer: Doer, text: string): Promise<JsonObject>
}

export type DecidedDelivery = {
  readonly outcome: GameVerdict
  readonly reason: string | null
  readonly doer: Doer
}

/** `too_early`: the request may still reach the game. `nothing_to_decide`: no such delivery, or somebody decided before. */
export type Decision = 'taken' | 'too_early' | 'nothing_to_decide'

const reference = z.strictObject({ id: z.string().min(1).max(128) })
const NOTE_LENGTH_MAX = 2_000

export function orderRows(desk: OrderContext): readonly OperatorRoute[] {
  // What is only read goes by any name; a deed is about the order with this id, and not about one whose buyer calls it so.
  const show = async (name: string) => known(await desk.timeline(name), `There is no order ${name.slice(0, 80)}.`)
  const find = async (id: string) =>
    known(
      await desk.byId(id),
      `There is no order with the id ${id.slice(0, 80)}. GET /operator/orders/{id}, or \`sutler orders show\`, tells the id of one by its other names.`,
    )
  return [
    operator('GET /operator/orders', {
      role: 'viewer',
      summary: 'Orders, newest first; as a page, or all of them with Accept: text/csv',
      query: orderQuery,
      handle: async ({ query, header }) => {
        return isTableAsked({ query, header })
          ? { body: await orderTable(desk, query), contentType: TABLE_TYPE }
          : { body: await orderPage(desk, query) }
      },
    }),
    operator('GET /operator/orders/{id}', {
      role: 'viewer',
      summary:
        'One order with its whole timeline, what its buyer is told and what can be done, by anything that names it',
      params: reference,
      handle: async ({ params, who }) => ({ body: await presentWhole(desk, await show(params.id), who) }),
    }),
    operator('POST /operator/orders/{id}/retry', {
      role: 'support',
      summary: 'Go on with an order now instead of at its next turn',
      params: reference,
      handle: async ({ params, doer }) => {
        const order = await find(params.id)
        const { id: orderId, status } = order
        return { body: { orderId, status, isDue: !isFinal(status) && (await desk.hurry(order, doer)) } }
      },
    }),
    operator('POST /operator/orders/{id}/decide', {
      role: 'support',
      summary: 'Tell what was found out about a delivery that the game itself cannot judge',
      params: reference,
      body: z.strictObject({
        outcome: z.enum(['delivered', 'not_delivered']),
        reason: z.string().min(1).max(300).optional().describe('How it was found out; kept with the deed'),
        by: z.string().min(1).max(100).optional(),
      }),
      handle: async ({ params, body: { outcome, reason = null }, doer }) => {
        const order = await find(params.id)
        const { id: orderId, status } = order
        const decided = { outcome, reason, doer }
        const decision = isFinal(status) ? 'nothing_to_decide' : await desk.decide(order, decided)
        return { body: { orderId, status, decision } }
      },
    }),
    operator('POST /operator/orders/{id}/notes', {
      role: 'support',
      summary: 'Write something beside an order, for whoever looks at it next; its buyer does not see it',
      params: reference,
      body: z.strictObject({ text: z.string().trim().min(1).max(NOTE_LENGTH_MAX) }),
      handle: async ({ params, body, doer }) => ({
        status: 201,
        body: await desk.note(await find(params.id), doer, body.text),
      }),
    }),
  ]
}

function known<Found>(found: Found | null, detail: string): Found {
  if (found === null) throw new Problem('order_not_found', detail)
  return found
}

/** With what only a running shop knows. */
async function presentWhole(desk: OrderContext, timeline: Timeline, who: Operator): Promise<JsonObject> {
  const { order } = timeline
  const [naming, buyerView, decideObjection] = await Promise.all([
    desk.naming([order]),
    desk.buyerView(order),
    desk.decideObjection(order),
  ])
  const can = (needed: Role, objection: string | null) => {
    const why = mayAct(who.role, needed) ? objection : `This needs the role ${needed}; yours is ${who.role}.`
    return { can: why === null, why }
  }
  return {
    ...presentTimeline(timeline, naming, desk.link),
    buyerView,
    can: {
      retry: can('support', retryObjection(timeline)),
      refund: can('support', desk.refundObjection(order)),
      decide: can('support', decideObjection),
      note: can('support', null),
    },
  }
}

function retryObjection({ order, next }: Timeline): string | null {
  if (isFinal(order.status)) return `It is ${order.status}, and nothing is left to do.`
  return next?.isRunning ? 'It is being worked on right now.' : null
}
