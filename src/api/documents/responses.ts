import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { problems } from '../../base/problem.ts'
import type { RailName } from '../../domain/rail.ts'
import { HEADER as MPP } from '../../rails/mpp/wire.ts'
import { HEADER as X402, X402_VERSION } from '../../rails/x402/wire.ts'
import { problemSchema } from '../http/problem-body.ts'
import type { Components } from './components.ts'

/** What each protocol adds to a paid route: where the payment goes in, and what comes back. */
type Carrier = {
  readonly credential: JsonObject
  readonly challengeHeader: string
  readonly receiptHeader: string
  readonly challenge: z.ZodType
}

const x402Required = z
  .object({
    x402Version: z.literal(X402_VERSION),
    error: z.string(),
    resource: z.looseObject({ url: z.string() }),
    accepts: z.array(
      z.looseObject({
        scheme: z.literal('exact'),
        network: z.string(),
        amount: z.string().describe('Atomic units'),
        asset: z.string(),
        payTo: z.string(),
        maxTimeoutSeconds: z.int(),
      }),
    ),
    extensions: z.looseObject({}),
  })
  .meta({ id: 'X402PaymentRequired', description: 'The same as in the PAYMENT-REQUIRED header' })

const mppRequired = z
  .object({ challengeId: z.string().describe('The challenge itself is in the WWW-Authenticate header') })
  .meta({ id: 'MppPaymentRequired' })

/**
 * Both credentials are declared as an API key in a header (contract 5.2.2). The mark tells AgentCash that no key has to be asked for: it
 * then reads these routes as `paid`, which is what they are.
 */
const wallet = { type: 'apiKey', in: 'header', 'x-agentcash-auth-kind': 'siwx' } as const

const carriers: Readonly<Record<RailName, Carrier>> = {
  x402: {
    credential: {
      ...wallet,
      name: X402.signature,
      description:
        'An x402 payment (version 2, base64 JSON) for the challenge of the 402. Send the same body again with it.',
    },
    challengeHeader: X402.required,
    receiptHeader: X402.response,
    challenge: x402Required,
  },
  mpp: {
    credential: {
      ...wallet,
      name: MPP.credential,
      description:
        'Payment followed by an MPP credential for the challenge of the 402. Send the same body again with it.',
    },
    challengeHeader: MPP.challenge,
    receiptHeader: MPP.receipt,
    challenge: mppRequired,
  },
}

export function paymentSecurity(components: Components, rail: RailName): JsonObject {
  components.shared('securitySchemes', rail, () => carriers[rail].credential)
  return { [rail]: [] }
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
  { rail, result, isRateLimited }: { rail: RailName; result: z.ZodType; isRateLimited: boolean },
): JsonObject {
  const { challengeHeader, receiptHeader, challenge } = carriers[rail]
  const receipt = header(components, receiptHeader, 'Proof of the payment')
  const bought = components.schema(result, 'output')
  return {
    200: { description: 'Paid and delivered', headers: receipt, ...content(bought) },
    202: {
      description: 'Paid, and delivery is still under way: poll statusUrl, do not pay again',
      headers: { ...receipt, ...retryAfter(components) },
      ...content({ allOf: [bought, components.schema(pendingSchema, 'output')] }),
    },
    400: problemResponse(components, 400),
    402: components.shared('responses', `PaymentRequired_${rail}`, () => ({
      description: `${words(402)} Nothing was taken; paying is safe.`,
      headers: header(components, challengeHeader, 'The challenge to pay'),
      ...content({ allOf: [components.schema(problemSchema(), 'output'), components.schema(challenge, 'output')] }),
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
