import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { eventTypes } from '../../domain/event.ts'
import type { Facts } from '../facts/facts.ts'
import { answersAt, exampleOf } from './answers.ts'
import { createComponents } from './components.ts'
import { contract } from './contract.ts'
import { operationId } from './operations.ts'
import { anyProblem, JSON_TYPE, problemResponse } from './responses.ts'
import { webhookOperations } from './webhooks.ts'

const eventSchema = z
  .object({
    id: z.string().describe('Names the event; the same in every form'),
    position: z.string().describe('Its place in the log, as text: it does not fit a JSON number for ever'),
    type: z.enum(eventTypes),
    timestamp: z.iso.datetime(),
    subject: z.string().describe('What it is about, such as an order'),
    sequence: z.int().describe('Counts the changes of one subject; a smaller one is older news'),
    data: z.looseObject({}).describe('As the webhook of the same type has it'),
  })
  .meta({ id: 'LoggedEvent', description: 'Something that happened' })

const pageSchema = z
  .object({
    events: z.array(eventSchema),
    next: z.string().describe('Ask on with after=next'),
    hasMore: z.boolean(),
  })
  .meta({ id: 'EventPage' })

/** `/openapi.events.json`: everything that the shop tells by itself, sent (webhooks) or fetched (`/events`). */
export function eventsContract(facts: Facts): JsonObject {
  const components = createComponents()
  const webhooks = webhookOperations(components, facts)
  const hasLog = facts.config.operatorToken !== null
  return contract(facts, {
    title: `${facts.config.service.name}: events`,
    description:
      'What a receiver of webhooks is sent, and the log that the same events are read from. Both are for whoever runs the shop: a buyer asks /payments/{reference}.',
    tags: { webhooks: 'What receivers are told', ...(hasLog ? { log: 'The same, to be fetched' } : {}) },
    paths: hasLog ? { '/events': { get: logOperation(components, facts) } } : {},
    webhooks,
    components: components.all(),
  })
}

function logOperation(components: ReturnType<typeof createComponents>, { origin }: Facts): JsonObject {
  const answers = answersAt(origin)
  components.shared('securitySchemes', 'operator', () => ({ type: 'http', scheme: 'bearer' }))
  const route = { method: 'GET', path: '/events' }
  const parameter = (name: string, place: 'query' | 'header', description: string, pattern: string) => ({
    name,
    in: place,
    required: false,
    description,
    schema: { type: 'string', pattern },
  })
  return {
    operationId: operationId(route),
    tags: ['log'],
    summary: 'What happened, in order',
    description:
      'A page of the log; with Accept: text/event-stream a stream that goes on for as long as somebody listens, whose event ids are positions. A position that is no longer kept, or not yet there, is a 400 that says where to go on.',
    security: [{ operator: [] }],
    parameters: [
      parameter('after', 'query', 'The last position that is known already', '^\\d{1,18}$'),
      parameter('limit', 'query', 'At most so many, 1 to 1000', '^\\d{1,4}$'),
      parameter('Last-Event-ID', 'header', 'What a stream that broke off sends when it comes back', '^\\d{1,18}$'),
    ],
    responses: {
      200: {
        description: 'Events, oldest first',
        content: {
          [JSON_TYPE]: { schema: components.schema(pageSchema, 'output'), ...exampleOf(answers, 'GET /events', 200) },
          'text/event-stream': { schema: { type: 'string' } },
        },
      },
      400: problemResponse(components, 400, answers),
      401: problemResponse(components, 401, answers),
      ...anyProblem(components),
    },
  }
}
