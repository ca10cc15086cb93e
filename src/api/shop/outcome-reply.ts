import { newId, type Random } from '../../base/id.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import type { Problem } from '../../base/problem.ts'
import { ASKED, type ChallengeReason, type Outcome } from '../../checkout/answer.ts'
import { statusCodeOf } from '../../domain/order.ts'
import { corsHeaders } from '../http/cors.ts'
import { problemBody, typeOf } from '../http/problem-body.ts'
import { type Headers, headerList, type Reply } from '../http/reply.ts'

/** What the core came to, as HTTP. `extra` are headers that belong to the exchange: what is left of an allowance, the flow. */
export type Replies = {
  outcome(outcome: Outcome, flowId: string, extra: Headers): Reply
  /** The id is what a client reports and the log knows; one is made where nothing was logged. */
  problem(problem: Problem, extra?: Headers, requestId?: string): Reply
}

export type ReplyOptions = { readonly errorsUrl: string; readonly random: Random }

const RETRY_SECONDS = 2
const VARY = 'Authorization, PAYMENT-SIGNATURE, Origin'
const jsonHeaders = { 'Content-Type': 'application/json', ...corsHeaders }
const paidHeaders = { ...jsonHeaders, 'Cache-Control': 'private, no-store', Vary: VARY }
/** A kept 402 or error would be shown to somebody who has paid meanwhile. */
const unpaidHeaders = { ...jsonHeaders, 'Cache-Control': 'no-store', Vary: VARY }
const unpaidList = headerList(unpaidHeaders)

type Settled = Exclude<Outcome, { kind: 'challenged' }>

export function createReplies(options: ReplyOptions): Replies {
  const challenge = createChallengeReply(options)
  return {
    outcome: (outcome, flowId, extra) =>
      outcome.kind === 'challenged' ? challenge(outcome, flowId, extra) : settledReply(outcome, flowId, options),

    problem(problem, extra = {}, requestId) {
      const body = bodyOf(problem, options, requestId)
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

type Challenged = Extract<Outcome, { kind: 'challenged' }>

/** The 402. What everybody is told who has not paid is written out once; who was refused is told why. */
function createChallengeReply(options: ReplyOptions): (outcome: Challenged, flowId: string, extra: Headers) => Reply {
  const { errorsUrl, random } = options

  /** The members of a problem that are the same in each answer, up to the closing brace. */
  function restOf(problem: Problem): string {
    const { type: _type, requestId: _id, ...members } = bodyOf(problem, options)
    return stringify(members).slice(1)
  }

  const rests = { probe: restOf(ASKED.probe), unpaid: restOf(ASKED.unpaid) }
  const restFor = (why: ChallengeReason, problem: Problem) => (why === 'refused' ? restOf(problem) : rests[why])

  return ({ why, problem, wire }, flowId, extra) => {
    const named = `"type":"${wire.problemType ?? typeOf(problem, errorsUrl)}","requestId":"${newId('req', random)}"`
    return {
      status: 402,
      body: `{${wire.members},${named},${restFor(why, problem)}`,
      fixed: unpaidList,
      headers: { ...wire.headers, 'X-Flow-Id': flowId, ...extra },
    }
  }
}

function bodyOf(problem: Problem, { errorsUrl, random }: ReplyOptions, requestId = newId('req', random)): JsonObject {
  return problemBody(problem, { requestId, errorsUrl })
}

/** A payment was taken, or may have been. */
function settledReply(outcome: Settled, flowId: string, options: ReplyOptions): Reply {
  const { order, wire } = outcome
  switch (outcome.kind) {
    case 'delivered': {
      const { answer, isReplay } = outcome
      const replayed: Headers = isReplay ? { 'Idempotent-Replayed': 'true' } : {}
      return {
        status: answer.status,
        body: answer.body,
        headers: { ...paidHeaders, ...answer.headers, ...replayed, 'X-Flow-Id': order.flowId },
      }
    }
    case 'moving': {
      const retry = { 'Retry-After': String(outcome.retryAfterSeconds) }
      const headers = { ...paidHeaders, ...wire.headers, ...retry, 'X-Flow-Id': order.flowId }
      return { status: 202, body: stringify(outcome.body), headers }
    }
    case 'public': {
      const status = statusCodeOf(order.status)
      const retry: Headers = status === 202 ? { 'Retry-After': String(RETRY_SECONDS) } : {}
      const headers = { ...paidHeaders, ...wire.headers, ...retry, 'X-Flow-Id': flowId }
      return { status, body: stringify(outcome.body), headers }
    }
    case 'failed': {
      const { problem } = outcome
      return {
        status: problem.status,
        body: stringify(bodyOf(problem, options)),
        headers: { ...unpaidHeaders, ...wire.headers, 'X-Flow-Id': order.flowId },
      }
    }
  }
}
