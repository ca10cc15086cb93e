import * as z from 'zod'
import type { Json, JsonObject } from '../../base/json.ts'
import { problems } from '../../base/problem.ts'
import type { Rail } from '../../domain/rail.ts'
import { problemSchema } from '../http/problem-body.ts'
import { ANY_OPERATION, type Answers, exampleOf } from './answers.ts'
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

type PaidAnswer = {
  readonly rail: Rail
  /** Method and path. */
  readonly key: string
  readonly result: z.ZodType
  readonly isRateLimited: boolean
  readonly answers: Answers
}

/** Every answer of a paid route. */
export function paidResponses(
  components: Components,
  { rail, key, result, isRateLimited, answers }: PaidAnswer,
): JsonObject {
  const { name, headers, documents } = rail
  const receipt = header(components, headers.receipt, 'Proof of the payment')
  const bought = components.schema(result, 'output')
  return {
    200: {
      description: 'Paid and delivered',
      headers: receipt,
      ...content(bought, JSON_TYPE, exampleOf(answers, key, 200)),
    },
    202: {
      description: 'Paid, and delivery is still under way: poll statusUrl, do not pay again',
      headers: { ...receipt, ...retryAfter(components) },
      ...content(
        { allOf: [bought, components.schema(pendingSchema, 'output')] },
        JSON_TYPE,
        exampleOf(answers, key, 202),
      ),
    },
    400: problemResponse(components, 400, answers),
    402: components.shared('responses', `PaymentRequired_${name}`, () => ({
      description: `${words(402)} Nothing was taken; paying is safe.`,
      headers: header(components, headers.challenge, 'The challenge to pay'),
      ...content(
        { allOf: [components.schema(problemSchema(), 'output'), components.schema(documents.challenge, 'output')] },
        JSON_TYPE,
        exampleOf(answers, key, 402),
      ),
    })),
    ...Object.fromEntries([403, 404, 409].map((status) => [status, problemResponse(components, status, answers)])),
    ...(isRateLimited ? { 429: problemResponse(components, 429, answers) } : {}),
    503: problemResponse(components, 503, answers),
    ...anyProblem(components),
  }
}

/** Every answer of a free route. */
export function freeResponses(
  components: Components,
  route: {
    readonly answerTo: (status: number) => JsonObject
    readonly statuses: readonly number[]
    readonly takesParameters: boolean
    readonly isCounted: boolean
    readonly answers: Answers
  },
): JsonObject {
  const { answerTo, statuses, takesParameters, isCounted, answers } = route
  const failures = [
    ...(takesParameters ? [400] : []),
    ...statuses.filter((status) => status >= 400 && status !== 503),
    ...(isCounted ? [429] : []),
  ]
  const moving = {
    description: 'Known, and still moving: ask again',
    headers: retryAfter(components),
    ...answerTo(202),
  }
  return {
    200: { description: statuses.includes(202) ? 'Nothing more will happen' : 'The answer', ...answerTo(200) },
    ...(statuses.includes(202) ? { 202: moving } : {}),
    // Where 503 is an answer of its own, it has the shape of the answer.
    ...(statuses.includes(503) ? { 503: { description: 'Not now', ...answerTo(503) } } : {}),
    ...Object.fromEntries(failures.map((status) => [status, problemResponse(components, status, answers)])),
    ...anyProblem(components),
  }
}

export const JSON_TYPE = 'application/json'

export function content(
  schema: JsonObject,
  mediaType = JSON_TYPE,
  members: { readonly example?: Json } = {},
): JsonObject {
  return { content: { [mediaType]: { schema, ...members } } }
}

export function problemResponse(components: Components, status: number, answers: Answers): JsonObject {
  return components.shared('responses', `Problem_${status}`, () => ({
    description: words(status),
    ...(status === 429 || status === 503 ? { headers: retryAfter(components) } : {}),
    ...content(components.schema(problemSchema(), 'output'), JSON_TYPE, exampleOf(answers, ANY_OPERATION, status)),
  }))
}

/** What may also come, from any route: a wrong method, a body too large, a fault of ours. */
export function anyProblem(components: Components): JsonObject {
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
