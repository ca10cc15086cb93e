import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { problems } from '../../base/problem.ts'
import type { Rail } from '../../domain/rail.ts'
import { problemSchema } from '../http/problem-body.ts'
import type { Components } from './components.ts'

/**
 * Every credential is declared as an API key in a header (contract 5.2.2). The mark tells AgentCash that no key has to be asked for: it
 * then reads these routes as `paid`, which is what they are.
 */
const wallet = { type: 'apiKey', in: 'header', 'x-agentcash-auth-kind': 'siwx' } as const

export function paymentSecurity(components: Components, { name, headers, documents }: Rail): JsonObject {
  const credential = { ...wallet, name: headers.credential.name, description: documents.credential }
  components.shared('securitySchemes', name, () => credential)
  return { [name]: [] }
}

const pendingSchema = z
  .object({
    code: z.enum(['action_pending', 'payment_pending']),
    payment: z.looseObject({ taken: z.union([z.literal(true), z.literal('unknown')]) }),
    retry: z.object({ action: z.literal('poll'), afterSeconds: z.number(), statusUrl: z.string() }),
  })
  .meta({ id: 'Pending', description: 'Paid and still moving: poll, and do not pay again' })

/** Every answer of a paid route. */
export function paidResponses(
  components: Components,
  { rail, result, isRateLimited }: { rail: Rail; result: z.ZodType; isRateLimited: boolean },
): JsonObject {
  const { name, headers, documents } = rail
  const receipt = header(components, headers.receipt, 'Proof of the payment')
  const bought = components.schema(result, 'output')
  return {
    200: { description: 'Paid and delivered', headers: receipt, ...content(bought) },
    202: {
      description: 'Paid, and delivery is still under way: poll statusUrl, do not pay again',
      headers: { ...receipt, ...retryAfter(components) },
      ...content({ allOf: [bought, components.schema(pendingSchema, 'output')] }),
    },
    400: problemResponse(components, 400),
    402: components.shared('responses', `PaymentRequired_${name}`, () => ({
      description: `${words(402)} Nothing was taken; paying is safe.`,
      headers: header(components, headers.challenge, 'The challenge to pay'),
      ...content({
        allOf: [components.schema(problemSchema(), 'output'), components.schema(documents.challenge, 'output')],
      }),
    })),
    ...Object.fromEntries([403, 404, 409].map((status) => [status, problemResponse(components, status)])),
    ...(isRateLimited ? { 429: problemResponse(components, 429) } : {}),
    503: problemResponse(components, 503),
    ...anyProblem(components),
  }
}

/** Every answer of a free route. */
export function freeResponses(
  components: Components,
  route: {
    readonly answer: JsonObject
    readonly statuses: readonly number[]
    readonly takesParameters: boolean
    readonly isCounted: boolean
  },
): JsonObject {
  const { answer, statuses, takesParameters, isCounted } = route
  const failures = [
    ...(takesParameters ? [400] : []),
    ...statuses.filter((status) => status >= 400 && status !== 503),
    ...(isCounted ? [429] : []),
  ]
  const moving = { description: 'Known, and still moving: ask again', headers: retryAfter(components), ...answer }
  return {
    200: { description: statuses.includes(202) ? 'Nothing more will happen' : 'The answer', ...answer },
    ...(statuses.includes(202) ? { 202: moving } : {}),
    // Where 503 is an answer of its own, it has the shape of the answer.
    ...(statuses.includes(503) ? { 503: { description: 'Not now', ...answer } } : {}),
    ...Object.fromEntries(failures.map((status) => [status, problemResponse(components, status)])),
    ...anyProblem(components),
  }
}

export const JSON_TYPE = 'application/json'

export function content(schema: JsonObject, mediaType = JSON_TYPE, example: JsonObject | null = null): JsonObject {
  return { content: { [mediaType]: { schema, ...(example ? { example } : {}) } } }
}

function problemResponse(components: Components, status: number): JsonObject {
  return components.shared('responses', `Problem_${status}`, () => ({
    description: words(status),
    ...(status === 429 || status === 503 ? { headers: retryAfter(components) } : {}),
    ...content(components.schema(problemSchema(), 'output')),
  }))
}

/** What may also come, from any route: a wrong method, a body too large, a fault of ours. */
function anyProblem(components: Components): JsonObject {
  const problem = components.shared('responses', 'Problem', () => ({
    description: 'Any other error: its code is explained at /errors.',
    ...content(components.schema(problemSchema(), 'output')),
  }))
  return { '4XX': problem, '5XX': problem }
}

/** Which codes of the problem table have this status. */
function words(status: number): string {
  const codes = Object.entries(problems).flatMap(([code, kind]) => (kind.status === status ? [code] : []))
  return `One of: ${codes.join(', ')}.`
}

function retryAfter(components: Components): JsonObject {
  return header(components, 'Retry-After', 'Seconds to wait', 'integer')
}

function header(
  components: Components,
  name: string,
  description: string,
  type: 'string' | 'integer' = 'string',
): JsonObject {
  return { [name]: components.shared('headers', name, () => ({ description, schema: { type } })) }
}
