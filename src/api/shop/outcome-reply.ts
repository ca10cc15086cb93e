import { newId, type Random } from '../../base/id.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import type { Problem } from '../../base/problem.ts'
import { ASKED, type ChallengeReason, type Outcome } from '../../checkout/answer.ts'
import { statusCodeOf } from '../../domain/order.ts'
import { corsHeaders, varyHeader } from '../http/cors.ts'
import { problemBody, typeOf } from '../http/problem-body.ts'
import { type Headers, headerList, type Reply } from '../http/reply.ts'

/** What the core came to, as HTTP. `extra` are headers that belong to the exchange: what is left of an allowance, the flow. */
export type Replies = {
  outcome(outcome: Outcome, flowId: string, extra: Headers): Reply
  /** The id is what a client reports and the log knows; one is made where nothing was logged. */
  problem(problem: Problem, extra?: Headers, requestId?: string): Reply
}

type ReplyOptions = { readonly errorsUrl: string; readonly random: Random }

const RETRY_SECONDS = 2

/** What every answer has, paid or not. A kept 402 or error would be shown to somebody who has paid meanwhile. */
type Usual = { readonly paid: Headers; readonly unpaid: Headers }

function usualHeaders(): Usual {
  const json = { 'Content-Type': 'application/json', ...corsHeaders() }
  const dressed = (cacheControl: string) => ({ ...json, 'Cache-Control': cacheControl, Vary: varyHeader() })
  return { paid: dressed('private, no-store'), unpaid: dressed('no-store') }
}

type Settled = Exclude<Outcome, { kind: 'challenged' }>

export function createReplies(options: ReplyOptions): Replies {
  const usual = usualHeaders()
  const challenge = createChallengeReply(options, usual)
  return {
    outcome: (outcome, flowId, extra) =>
      outcome.kind === 'challenged' ? challenge(outcome, flowId, extra) : settledReply(outcome, flowId, options, usual),

    problem(problem, extra = {}, requestId) {
      const body = bodyOf(problem, options, requestId)
      const { afterSeconds } = body['retry'] as { afterSeconds: number | null }
      return {
        status: problem.status,
        body: stringify(body),
        headers: {
          ...usual.unpaid,
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
function createChallengeReply(options: ReplyOptions, usual: Usual) {
  const { errorsUrl, random } = options
  const fixed = headerList(usual.unpaid)

  /** The members of a problem that are the same in each answer, up to the closing brace. */
  function restOf(problem: Problem): string {
    const { type: _type, requestId: _id, ...members } = bodyOf(problem, options)
    return stringify(members).slice(1)
  }

  const rests = { probe: restOf(ASKED.probe), unpaid: restOf(ASKED.unpaid) }
  const restFor = (why: ChallengeReason, problem: Problem) => (why === 'refused' ? restOf(problem) : rests[why])

  return ({ why, problem, wire }: Challenged, flowId: string, extra: Headers): Reply => {
    const named = `"type":"${wire.problemType ?? typeOf(problem, errorsUrl)}","requestId":"${newId('req', random)}"`
    return {
      status: 402,
      body: `{${wire.members},${named},${restFor(why, problem)}`,
      fixed,
      headers: { ...wire.headers, 'X-Flow-Id': flowId, ...extra },
    }
  }
}

function bodyOf(problem: Problem, { errorsUrl, random }: ReplyOptions, requestId = newId('req', random)): JsonObject {
  return problemBody(problem, { requestId, errorsUrl })
}

/** A payment was taken, or may have been. */
function settledReply(outcome: Settled, flowId: string, options: ReplyOptions, usual: Usual): Reply {
  const { order, wire } = outcome
  switch (outcome.kind) {
    case 'delivered': {
      const { answer, isReplay } = outcome
      const replayed: Headers = isReplay ? { 'Idempotent-Replayed': 'true' } : {}
      return {
        status: answer.status,
        body: answer.body,
        headers: { ...usual.paid, ...answer.headers, ...replayed, 'X-Flow-Id': order.flowId },
      }
    }
    case 'moving': {
      const retry = { 'Retry-After': String(outcome.retryAfterSeconds) }
      const headers = { ...usual.paid, ...wire.headers, ...retry, 'X-Flow-Id': order.flowId }
      return { status: 202, body: stringify(outcome.body), headers }
    }
    case 'public': {
      const status = statusCodeOf(order.status)
      const retry: Headers = status === 202 ? { 'Retry-After': String(RETRY_SECONDS) } : {}
      const headers = { ...usual.paid, ...wire.headers, ...retry, 'X-Flow-Id': flowId }
      return { status, body: stringify(outcome.body), headers }
    }
    case 'failed': {
      const { problem } = outcome
      return {
        status: problem.status,
        body: stringify(bodyOf(problem, options)),
        headers: { ...usual.unpaid, ...wire.headers, 'X-Flow-Id': order.flowId },
      }
    }
  }
}
