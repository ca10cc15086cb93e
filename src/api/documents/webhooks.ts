import type * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { transferSchema } from '../../domain/booked-transfer.ts'
import { deedSchema, type EventType, eventDescriptions, eventTypes, recordedReportSchema } from '../../domain/event.ts'
import type { EventSubject } from '../../domain/good.ts'
import { troubleEvents, troubleSchema } from '../../domain/trouble.ts'
import type { Facts } from '../facts/facts.ts'
import type { Components } from './components.ts'
import { content } from './responses.ts'

const HEADERS = {
  'webhook-id': 'Names the message; the same for every try',
  'webhook-timestamp': 'Seconds since 1970 at which it was signed',
  'webhook-signature': 'Standard Webhooks: v1 and an HMAC-SHA256 over id, timestamp and body',
} as const

/** What a receiver of webhooks is sent: OpenAPI's own section for it. */
export function webhookOperations(components: Components, { paid }: Facts): JsonObject {
  const parameters = Object.entries(HEADERS).map(([name, description]) =>
    components.shared('parameters', name, () => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
  )
  const operations: [EventType, JsonObject][] = []
  for (const type of eventTypes) {
    const objects = objectsOf(type, paid).map((schema) => components.schema(schema, 'output'))
    const [only] = objects
    // Nobody hears of what is not sold here.
    if (!only) continue
    const object = objects.length === 1 ? only : { anyOf: objects }
    operations.push([type, { post: operation(type, object, parameters) }])
  }
  return Object.fromEntries(operations)
}

const TROUBLES: ReadonlySet<EventType> = new Set(Object.values(troubleEvents).flat())

/** What an event of this type may be about. */
function objectsOf(type: EventType, paid: Facts['paid']): readonly z.ZodType[] {
  const purchasesOf = (isMeant: (subject: EventSubject) => boolean) => [
    ...new Set(paid.filter(({ route }) => isMeant(route.offer.good.subject)).map(({ route }) => route.result)),
  ]
  if (type === 'payment.held') return [transferSchema]
  if (type === 'report.recorded') return [recordedReportSchema]
  if (type === 'operator.acted') return [deedSchema]
  if (TROUBLES.has(type)) return [troubleSchema]
  if (type.startsWith('refund.')) return [...purchasesOf(() => true), transferSchema]
  if (type === 'payment.settled') return purchasesOf(() => true)
  return purchasesOf((subject) => type.startsWith(`${subject}.`))
}

function operation(type: EventType, object: JsonObject, parameters: readonly JsonObject[]): JsonObject {
  const sequence = { type: 'integer', description: 'Counts the changes of one object; a smaller one is older news' }
  const data = { allOf: [object, { type: 'object', properties: { sequence }, required: ['sequence'] }] }
  return {
    operationId: `on${type.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: ['webhooks'],
    summary: eventDescriptions[type].replace(/\..*$/, ''),
    description: `${eventDescriptions[type]} Sent at least once, signed, in order for each object, and repeated for up to three days until a 2xx.`,
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
