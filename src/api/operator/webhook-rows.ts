import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { eventTypes } from '../../domain/event.ts'
import type { LoggedDelivery } from '../../store/webhooks/deliveries.ts'
import type { Endpoint } from '../../store/webhooks/endpoints.ts'
import type { Webhooks } from '../../webhooks/endpoints.ts'
import { limitField as limit, positionField as position } from './event-query.ts'
import { receiverUrl } from './receiver-url.ts'
import { type OperatorRoute, operator } from './route.ts'
import { formatField, isTableAsked, TABLE_PAGE, TABLE_TYPE, tableOf } from './table.ts'

const PAGE = 100
const COLUMNS = ['position', 'eventId', 'type', 'subject', 'state', 'attempts', 'answers']
const id = z.strictObject({ id: z.string().min(1).max(64) })
const reason = z.string().min(1).max(300)

/** Who is told of events, and what was answered. */
export function webhookRows(webhooks: Webhooks): readonly OperatorRoute[] {
  return [
    operator('GET /operator/webhooks', {
      role: 'viewer',
      summary: 'Who is told of events; their whole addresses are for admins',
      handle: async ({ who }) => {
        const [endpoints, backlog] = await Promise.all([webhooks.list(), webhooks.backlog()])
        const of = new Map(
          backlog.map(({ endpointId, pending, dead, oldestSeconds }) => [endpointId, { pending, dead, oldestSeconds }]),
        )
        const none = { pending: 0, dead: 0, oldestSeconds: 0 }
        return {
          body: {
            webhooks: endpoints.map((one) => ({
              ...presentEndpoint(one),
              url: receiverUrl(who, one.url),
              ...(of.get(one.id) ?? none),
            })),
          },
        }
      },
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
    operator('POST /operator/webhooks/{id}/deliveries/{position}/resend', {
      role: 'support',
      summary: 'Send one message again, with the id it had, whatever became of it',
      params: z.strictObject({ id: id.shape.id, position }),
      handle: async ({ params, doer }) => ({
        status: 202,
        body: { queued: await webhooks.resend(doer, params.id, params.position) },
      }),
    }),
    operator('POST /operator/webhooks/{id}/test', {
      role: 'admin',
      summary: 'Send a message of the type webhook.test now, signed like all others, and tell what was answered',
      params: id,
      handle: async ({ params, doer }) => {
        const { at, ...answer } = await webhooks.test(doer, params.id)
        return { body: { ...answer, at: isoTime(at) } }
      },
    }),
    operator('GET /operator/webhooks/{id}/deliveries', {
      role: 'viewer',
      summary: 'What was sent and what was answered, newest first; as a page, or all of it with Accept: text/csv',
      params: id,
      query: z.strictObject({
        before: position.optional(),
        state: z.enum(['pending', 'delivered', 'dead']).optional(),
        limit: limit.optional(),
        format: formatField,
      }),
      handle: async ({ params, query, header }) => {
        const { before, state, limit = PAGE } = query
        const page = async (before: bigint | undefined, limit: number) => {
          const found = await webhooks.deliveries(params.id, { before, state, limit: limit + 1 })
          const shown = found.slice(0, limit)
          const next = found.length > limit ? (shown.at(-1)?.position.toString() ?? null) : null
          return { rows: shown.map(presentDelivery), next }
        }
        if (isTableAsked({ query, header })) {
          const after = (cursor: string | undefined) => page(cursor === undefined ? before : BigInt(cursor), TABLE_PAGE)
          return { body: await tableOf(COLUMNS, after), contentType: TABLE_TYPE }
        }
        const { rows, next } = await page(before, limit)
        return { body: { deliveries: rows, next } }
      },
    }),
  ]
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
