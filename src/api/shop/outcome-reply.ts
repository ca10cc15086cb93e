import { newId, type Random } from '../../base/id.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import type { Problem } from '../../base/problem.ts'
import type { Outcome } from '../../checkout/answer.ts'
import { statusCodeOf } from '../../domain/order.ts'
import { corsHeaders } from '../http/cors.ts'
import { problemBody, typeOf } from '../http/problem-body.ts'
import type { Headers, Reply } from '../http/reply.ts'

/** What the core came to, as HTTP. `extra` are headers that belong to the exchange: what is left of an allowance, the flow. */
export type Replies = {
  outcome(outcome: Outcome, flowId: string, extra: Headers): Reply
  /** The id is what a client reports and the log knows; one is made where nothing was logged. */
  problem(problem: Problem, extra?: Headers, requestId?: string): Reply
}

const RETRY_SECONDS = 2
const VARY = 'Authorization, PAYMENT-SIGNATURE, Origin'
const jsonHeaders = { 'Content-Type': 'application/json', ...corsHeaders }
const paidHeaders = { ...jsonHeaders, 'Cache-Control': 'private, no-store', Vary: VARY }
/** A kept 402 or error would be shown to somebody who has paid meanwhile. */
const unpaidHeaders = { ...jsonHeaders, 'Cache-Control': 'no-store', Vary: VARY }

export function createReplies({ errorsUrl, random }: { errorsUrl: string; random: Random }): Replies {
  const bodyOf = (problem: Problem, requestId = newId('req', random)): JsonObject =>
    problemBody(problem, { requestId, errorsUrl })

  const written = new WeakMap<Problem, string>()

  /** The members of a problem that are the same in each answer, up to the closing brace: unpaid calls all throw the same two problems. */
  function restOf(problem: Problem): string {
    let rest = written.get(problem)
    if (rest === undefined) {
      const { type: _type, requestId: _id, ...members } = bodyOf(problem)
      rest = stringify(members).slice(1)
      written.set(problem, rest)
    }
    return rest
  }

  return {
    outcome(outcome, flowId, extra) {
      switch (outcome.kind) {
        case 'challenged': {
          const { problem, wire } = outcome
          const named = `"type":"${wire.problemType ?? typeOf(problem, errorsUrl)}","requestId":"${newId('req', random)}"`
          const body = `{${wire.members},${named},${restOf(problem)}`
          return {
            status: 402,
            body,
            fixed: unpaidHeaders,
            headers: { ...wire.headers, 'X-Flow-Id': flowId, ...extra },
          }
        }
        case 'delivered': {
          const { answer, order, isReplay } = outcome
          const replayed: Headers = isReplay ? { 'Idempotent-Replayed': 'true' } : {}
          return {
            status: answer.status,
            body: answer.body,
            headers: { ...paidHeaders, ...answer.headers, ...replayed, 'X-Flow-Id': order.flowId },
          }
        }
        case 'moving': {
          const { body, wire, retryAfterSeconds, order } = outcome
          return {
            status: 202,
            body: stringify(body),
            headers: {
              ...paidHeaders,
              ...wire.headers,
              'Retry-After': String(retryAfterSeconds),
              'X-Flow-Id': order.flowId,
            },
          }
        }
        case 'public': {
          const { body, wire, order } = outcome
          const status = statusCodeOf(order.status)
          const retry: Headers = status === 202 ? { 'Retry-After': String(RETRY_SECONDS) } : {}
          const headers = { ...paidHeaders, ...wire.headers, ...retry, 'X-Flow-Id': flowId }
          return { status, body: stringify(body), headers }
        }
        case 'failed': {
          const { problem, wire, order } = outcome
          return {
            status: problem.status,
            body: stringify(bodyOf(problem)),
            headers: { ...unpaidHeaders, ...wire.headers, 'X-Flow-Id': order.flowId },
          }
        }
      }
    },

    problem(problem, extra = {}, requestId) {
      const body = bodyOf(problem, requestId)
      const { afterSeconds } = body['retry'] as { afterSeconds: number | null }
      return {
        status: problem.status,
        body: stringify(body),
        headers: {
          ...unpaidHeaders,
          ...(afterSeconds === null ? {} : { 'Retry-After': String(afterSeconds) }),
          ...extra,
          ...problem.extra.headers,
        },
      }
    },
  }
}
