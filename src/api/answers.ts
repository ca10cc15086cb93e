import { newId, type Random } from '../base/id.ts'
import { type JsonObject, stringify } from '../base/json.ts'
import type { Problem } from '../base/problem.ts'
import type { Outcome } from '../checkout/answer.ts'
import { corsHeaders } from './cors.ts'
import { problemBody } from './problem-body.ts'

type Headers = Readonly<Record<string, string>>

/** What the core came to, as HTTP. */
export type Answers = {
  json(status: number, body: string, headers: Headers): Response
  outcome(outcome: Outcome, flowId: string): Response
  problem(problem: Problem, route: { readonly isPaid: boolean; readonly methods: readonly string[] }): Response
}

const PAID_CACHE = { 'Cache-Control': 'private, no-store', Vary: 'Authorization, PAYMENT-SIGNATURE, Origin' }

export function createAnswers({ errorsUrl, random }: { errorsUrl: string; random: Random }): Answers {
  const bodyOf = (problem: Problem, isPaidRoute: boolean): JsonObject =>
    problemBody(problem, { requestId: newId('req', random), errorsUrl, isPaidRoute })

  function json(status: number, body: string, headers: Headers): Response {
    return new Response(body, { status, headers: { 'Content-Type': 'application/json', ...corsHeaders, ...headers } })
  }

  return {
    json,

    outcome(outcome, flowId) {
      switch (outcome.kind) {
        case 'challenged': {
          const { problem, wire } = outcome
          const body = { ...wire.body, ...bodyOf(problem, true), ...protocolType(wire.body) }
          return json(402, stringify(body), { ...wire.headers, 'Cache-Control': 'no-store', 'X-Flow-Id': flowId })
        }
        case 'delivered': {
          const { answer, order, isReplay } = outcome
          const replayed: Headers = isReplay ? { 'Idempotent-Replayed': 'true' } : {}
          return json(answer.status, answer.body, {
            ...answer.headers,
            ...replayed,
            ...PAID_CACHE,
            'X-Flow-Id': order.flowId,
          })
        }
        case 'moving': {
          const { body, wire, retryAfterSeconds, order } = outcome
          return json(202, stringify(body), {
            ...wire.headers,
            ...PAID_CACHE,
            'Retry-After': String(retryAfterSeconds),
            'X-Flow-Id': order.flowId,
          })
        }
        case 'failed': {
          const { problem, wire, order } = outcome
          return json(409, stringify(bodyOf(problem, true)), {
            ...wire.headers,
            'Cache-Control': 'no-store',
            'X-Flow-Id': order.flowId,
          })
        }
      }
    },

    problem(problem, { isPaid, methods }) {
      const body = bodyOf(problem, isPaid)
      const { afterSeconds } = body['retry'] as { afterSeconds: number | null }
      return json(problem.status, stringify(body), {
        'Cache-Control': 'no-store',
        ...(afterSeconds === null ? {} : { 'Retry-After': String(afterSeconds) }),
        ...(problem.status === 405 ? { Allow: methods.join(', ') } : {}),
        // What is left of a body that is too large is not read.
        ...(problem.status === 413 ? { Connection: 'close' } : {}),
        ...problem.extra.headers,
      })
    },
  }
}

/** MPP names its own problem type, and that one stands. */
function protocolType(body: Readonly<Record<string, unknown>>): JsonObject {
  return typeof body['type'] === 'string' ? { type: body['type'] } : {}
}
