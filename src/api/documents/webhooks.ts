import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { type EventType, eventTypes } from '../../domain/event.ts'
import type { Facts } from './facts.ts'
import { content } from './responses.ts'
import type { Book } from './schema-book.ts'

const meanings: Readonly<Record<EventType, string>> = {
  'order.created': 'A payment was verified, and its order opened',
  'order.submitted': 'The goods are on their way: a transaction was sent',
  'order.confirmed': 'Paid and delivered',
  'order.failed': 'Paid, and it will not be delivered: the money goes back',
  'order.expired': 'The payment never landed; nothing was taken',
  'craft.action.created': 'A payment for a craft action was verified',
  'craft.action.submitted': 'The transaction of a craft action was sent',
  'craft.action.confirmed': 'A craft action was carried out',
  'craft.action.failed': 'A craft action will not be carried out: the money goes back',
  'craft.action.expired': 'The payment for a craft action never landed; nothing was taken',
  'payment.settled': 'The money of an order is on the chain',
  'payment.orphaned': 'Money came that no purchase was presented for',
  'refund.created': 'The full amount is on its way back to the payer',
  'refund.completed': 'The full amount was sent back to the payer',
  'report.recorded': 'A transaction hash was recorded for a user',
}

const HEADERS = {
  'webhook-id': 'Names the message; the same for every try',
  'webhook-timestamp': 'Seconds since 1970 at which it was signed',
  'webhook-signature': 'Standard Webhooks: v1 and an HMAC-SHA256 over id, timestamp and body',
} as const

const arrivalSchema = z
  .looseObject({
    arrivalId: z.string(),
    status: z.string(),
    paymentTx: z.string(),
    amount: z.string().describe('Atomic units'),
    payer: z.string(),
  })
  .meta({ id: 'Arrival', description: 'Money that came without a purchase' })

/** What a receiver of webhooks is sent: OpenAPI's own section for it. */
export function webhookOperations(book: Book, { paid }: Facts): JsonObject {
  const goods = [...new Set(paid.map(({ route }) => route.result))].map((result) => book.schema(result, 'output'))
  const parameters = Object.entries(HEADERS).map(([name, description]) =>
    book.shared('parameters', name, () => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
  )
  return Object.fromEntries(
    eventTypes.map((type) => {
      const object = type === 'payment.orphaned' ? book.schema(arrivalSchema, 'output') : { anyOf: goods }
      return [type, { post: operation(type, object, parameters) }]
    }),
  )
}

function operation(type: EventType, object: JsonObject, parameters: readonly JsonObject[]): JsonObject {
  const sequence = { type: 'integer', description: 'Counts the changes of one order; a smaller one is older news' }
  const data = { allOf: [object, { type: 'object', properties: { sequence }, required: ['sequence'] }] }
  return {
    operationId: `on${type.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: ['webhooks'],
    summary: meanings[type],
    description: 'Sent at least once, signed, in order for each order, and repeated for up to three days until a 2xx.',
    security: [],
    parameters,
    requestBody: {
      required: true,
      ...content({
        type: 'object',
        properties: { type: { const: type }, timestamp: { type: 'string', format: 'date-time' }, data },
        required: ['type', 'timestamp', 'data'],
      }),
    },
    responses: {
      '2XX': { description: 'Taken' },
      410: { description: 'Stop telling me: the address is switched off' },
      default: { description: 'Will be sent again later' },
    },
  }
}
