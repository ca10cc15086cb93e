import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { toldBy } from '../../checkout/advance.ts'
import type { Checkout } from '../../checkout/checkout.ts'
import type { TillReport } from '../../checkout/reconcile.ts'
import type { RefundFacts } from '../../checkout/refund.ts'
import { eventTypes } from '../../domain/event.ts'
import { IDEMPOTENCY_KEY } from '../../domain/fields.ts'
import { viewOf } from '../../domain/offer.ts'
import { statuses as allStatuses, type Order, type OrderStatus } from '../../domain/order.ts'
import type { Doer } from '../../store/deeds.ts'
import type { LoggedDelivery } from '../../store/webhooks/deliveries.ts'
import type { Endpoint } from '../../store/webhooks/endpoints.ts'
import type { Webhooks } from '../../webhooks/endpoints.ts'
import { type EventLog, presentEvent } from './event-stream.ts'
import { type OperatorRoute, operator } from './route.ts'

/** What the operator's routes work with. */
type OperatorContext = {
  readonly checkout: Checkout
  readonly events: EventLog
  readonly webhooks: Webhooks
  /** Compares every till with the books, now. */
  reconcile(doer: Doer): Promise<readonly TillReport[]>
  /** Sends the money of an order back, and writes down whose word it was. */
  refund(orderId: string, asked: AskedRefund): Promise<Order>
  /** Prometheus' text. */
  metrics(): Promise<string>
}

export type AskedRefund = {
  readonly reason: string
  readonly doer: Doer
  readonly key: string | null
  readonly expect?: RefundFacts | undefined
}

const PAGE = 100
const PAGE_MAX = 1_000

const position = z
  .string()
  .regex(/^\d{1,18}$/)
  .transform(BigInt)
const limit = z
  .string()
  .regex(/^\d{1,4}$/)
  .transform(Number)
  .refine((value) => value >= 1 && value <= PAGE_MAX, { message: `a limit is 1 to ${PAGE_MAX}` })
const id = z.strictObject({ id: z.string().min(1).max(64) })
const by = z.string().min(1).max(100).optional().describe('Who decided it')
const statuses = allStatuses as readonly [OrderStatus, ...OrderStatus[]]
const reason = z.string().min(1).max(300)

export function operatorRows(context: OperatorContext): readonly OperatorRoute[] {
  const { checkout, events, webhooks } = context
  return [
    operator('GET /events', {
      role: 'viewer',
      summary: 'What happened, in order; as a page, or as a stream with Accept: text/event-stream',
      query: z.strictObject({ after: position.optional(), limit: limit.optional() }),
      handle: async ({ query, header }) => {
        const isStream = /\btext\/event-stream\b/.test(header('accept') ?? '')
        const last = await events.last()
        const resumed = header('last-event-id')
        const after = resumed !== undefined && /^\d{1,18}$/.test(resumed) ? BigInt(resumed) : query.after
        if (after !== undefined && after > last) throw aheadOfLog(last)
        const forgotten = await events.forgotten()
        if (after !== undefined && after < forgotten) throw behindLog(forgotten)
        if (isStream) return { body: events.stream(after ?? last), contentType: 'text/event-stream' }
        const page = await events.read(after ?? forgotten, query.limit ?? PAGE)
        const next = page.at(-1)?.position ?? after ?? forgotten
        return { body: { events: page.map(presentEvent), next: next.toString(), hasMore: next < last } }
      },
    }),
    operator('GET /metrics', {
      role: 'viewer',
      summary: 'Figures in the format of Prometheus',
      handle: async () => ({ body: await context.metrics(), contentType: 'text/plain; version=0.0.4; charset=utf-8' }),
    }),
    operator('POST /operator/orders/{id}/refund', {
      role: 'support',
      summary: 'Send the money of a delivered order back to its payer, in full',
      params: id,
      body: z.strictObject({
        reason: reason.describe('Told to the buyer'),
        by,
        expect: z
          .strictObject({ status: z.enum(statuses), amount: z.string().max(40), to: z.string().max(64) })
          .optional()
          .describe('What whoever decided was shown; if it is otherwise by now, nothing is sent'),
      }),
      handle: async ({ params, body: { reason, expect }, doer, header }) => {
        const key = keyIn(header('idempotency-key'))
        const order = await context.refund(params.id, { reason, expect, doer, key })
        const told = toldBy(checkout, order)
        return { status: order.status === 'refunded' ? 200 : 202, body: told.present(viewOf(told, order)) }
      },
    }),
    operator('POST /operator/reconcile', {
      role: 'support',
      summary: 'Compare the books with the chain now, and name every difference',
      handle: async ({ doer }) => ({ body: { tills: (await context.reconcile(doer)).map(presentReport) } }),
    }),
    ...webhookRows(webhooks),
  ]
}

function webhookRows(webhooks: Webhooks): readonly OperatorRoute[] {
  return [
    operator('GET /operator/webhooks', {
      role: 'viewer',
      summary: 'Who is told of events',
      handle: async () => ({ body: { webhooks: (await webhooks.list()).map(presentEndpoint) } }),
    }),
    operator('POST /operator/webhooks', {
      role: 'admin',
      summary: 'Tell an address of events; the answer holds the secret, once',
      body: z.strictObject({
        url: z.string().max(2_000),
        description: z.string().max(200).default(''),
        eventTypes: z.array(z.enum(eventTypes)).min(1).nullable().default(null).describe('Null: every type'),
      }),
      handle: async ({ body, doer }) => {
        const { endpoint, secret } = await webhooks.add(doer, body)
        return { status: 201, body: { ...presentEndpoint(endpoint), secret: secret.reveal() } }
      },
    }),
    operator('DELETE /operator/webhooks/{id}', {
      role: 'admin',
      summary: 'Forget an address and its log',
      params: id,
      handle: async ({ params, doer }) => {
        await webhooks.remove(doer, params.id)
        return { body: { removed: params.id } }
      },
    }),
    operator('POST /operator/webhooks/{id}/rotate', {
      role: 'admin',
      summary: 'A new secret; the old one signs beside it for a day',
      params: id,
      handle: async ({ params, doer }) => {
        const { endpoint, secret } = await webhooks.rotate(doer, params.id)
        return { body: { ...presentEndpoint(endpoint), secret: secret.reveal() } }
      },
    }),
    operator('POST /operator/webhooks/{id}/enable', {
      role: 'admin',
      summary: 'Tell it of events again, beginning with what was pending',
      params: id,
      handle: async ({ params, doer }) => ({ body: presentEndpoint(await webhooks.enable(doer, params.id)) }),
    }),
    operator('POST /operator/webhooks/{id}/disable', {
      role: 'admin',
      summary: 'Tell it nothing for now',
      params: id,
      body: z.strictObject({ reason: reason.default('Disabled by the operator.') }),
      handle: async ({ params, body, doer }) => ({
        body: presentEndpoint(await webhooks.disable(doer, params.id, body.reason)),
      }),
    }),
    ...deliveryRows(webhooks),
  ]
}

function deliveryRows(webhooks: Webhooks): readonly OperatorRoute[] {
  return [
    operator('POST /operator/webhooks/{id}/replay', {
      role: 'support',
      summary: 'Send again what was given up, or everything, after a position of the log',
      params: id,
      body: z.strictObject({ after: position.default(0n), which: z.enum(['dead', 'all']).default('dead') }),
      handle: async ({ params, body, doer }) => ({
        status: 202,
        body: { queued: await webhooks.replay(doer, params.id, body) },
      }),
    }),
    operator('GET /operator/webhooks/{id}/deliveries', {
      role: 'viewer',
      summary: 'What was sent and what was answered, newest first',
      params: id,
      query: z.strictObject({
        before: position.optional(),
        state: z.enum(['pending', 'delivered', 'dead']).optional(),
        limit: limit.optional(),
      }),
      handle: async ({ params, query }) => {
        const { before, state, limit = PAGE } = query
        const deliveries = await webhooks.deliveries(params.id, { before, state, limit })
        return { body: { deliveries: deliveries.map(presentDelivery) } }
      },
    }),
  ]
}

function keyIn(key: string | undefined): string | null {
  if (key === undefined) return null
  if (IDEMPOTENCY_KEY.test(key)) return key
  throw new Problem('invalid_request', 'An Idempotency-Key is 8 to 128 visible ASCII characters; nothing was sent.')
}

/** A reader who knows more than the log was reading another one: this store was restored from a backup. */
function aheadOfLog(last: bigint): Problem {
  return new Problem(
    'invalid_request',
    `The log ends at ${last}; a later position is of a log that this store does not have. Begin at an earlier one.`,
  )
}

/** What lies between was deleted. Nobody is handed the rest as if it were all. */
function behindLog(forgotten: bigint): Problem {
  return new Problem(
    'invalid_request',
    `Events through position ${forgotten} are no longer kept, so some that came after yours are missing. Take up what you may have missed from /operator/orders, then go on with after=${forgotten}.`,
    { members: { forgotten: forgotten.toString() } },
  )
}

/** Without its secrets. */
export function presentEndpoint({
  id,
  url,
  description,
  eventTypes,
  state,
  reason,
  secrets,
  createdAt,
}: Endpoint): JsonObject {
  return {
    id,
    url,
    description,
    eventTypes,
    state,
    reason,
    isRotating: secrets.length > 1,
    createdAt: isoTime(createdAt),
  }
}

function presentDelivery({ position, ...rest }: LoggedDelivery): JsonObject {
  return { ...rest, position: position.toString(), answers: rest.answers as unknown as Json }
}

/** Amounts as text: they do not fit a JSON number. */
function presentReport(report: TillReport): JsonObject {
  const { blocks, arrived, difference, items, ...till } = report
  return {
    ...till,
    blocks: { from: blocks.from.toString(), to: blocks.to.toString() },
    arrived: { count: arrived.count, amount: arrived.amount.toString() },
    difference: difference.toString(),
    items: items.map((item) => ({ ...item, amount: item.amount.toString() })),
  }
}
