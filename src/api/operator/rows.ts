import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { toldBy } from '../../checkout/advance.ts'
import type { Checkout } from '../../checkout/checkout.ts'
import type { RefundFacts } from '../../checkout/refund.ts'
import { IDEMPOTENCY_KEY } from '../../domain/fields.ts'
import { viewOf } from '../../domain/offer.ts'
import { statuses as allStatuses, type Order, type OrderStatus } from '../../domain/order.ts'
import type { AccountReport } from '../../ledger/reconcile.ts'
import type { Doer } from '../../store/deeds.ts'
import type { Webhooks } from '../../webhooks/endpoints.ts'
import { answerEvents, eventQuery } from './event-query.ts'
import type { EventLog } from './event-stream.ts'
import { type OperatorRoute, operator } from './route.ts'
import { webhookRows } from './webhook-rows.ts'

/** What the operator's routes work with. */
type OperatorContext = {
  readonly checkout: Checkout
  readonly events: EventLog
  readonly webhooks: Webhooks
  /** Compares every till with the books, now. */
  reconcile(doer: Doer): Promise<readonly AccountReport[]>
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
      query: eventQuery,
      handle: ({ query, header }) => answerEvents(events, query, header),
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
      handle: async ({ doer }) => ({ body: { accounts: (await context.reconcile(doer)).map(presentReport) } }),
    }),
    ...webhookRows(webhooks),
  ]
}

function keyIn(key: string | undefined): string | null {
  if (key === undefined) return null
  if (IDEMPOTENCY_KEY.test(key)) return key
  throw new Problem('invalid_request', 'An Idempotency-Key is 8 to 128 visible ASCII characters; nothing was sent.')
}

/** Amounts as text: they do not fit a JSON number. */
function presentReport(report: AccountReport): JsonObject {
  const { blocks, arrived, difference, items, ...account } = report
  return {
    ...account,
    blocks: { from: blocks.from.toString(), to: blocks.to.toString() },
    arrived: { count: arrived.count, amount: arrived.amount.toString() },
    difference: difference.toString(),
    items: items.map((item) => ({ ...item, amount: item.amount.toString() })),
  }
}
