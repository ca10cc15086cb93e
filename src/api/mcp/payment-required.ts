import { type JsonObject, stringify } from '../../base/json.ts'
import { formatUsd } from '../../base/money.ts'
import type { Problem } from '../../base/problem.ts'
import type { Outcome } from '../../checkout/answer.ts'
import type { McpBinding, Rail } from '../../domain/rail.ts'
import { joined } from '../facts/guidance.ts'
import { CODE, isObject, McpError, type Members } from './protocol.ts'
import { type ToolCall, type ToolResult, text } from './server.ts'

export type Challenged = Extract<Outcome, { kind: 'challenged' }>

type PaymentRequired = {
  /** One for each protocol that these arguments can be paid with; at least one. */
  readonly challenges: readonly Challenged[]
  /** Why a payment that was sent is not taken; null when none was. */
  readonly refusal: Problem | null
  /** How this shop is paid; not each of its tools takes each of them. */
  readonly rails: readonly Rail[]
  /** What is sold. */
  readonly summary: string
  /** The same purchase over plain HTTP, for clients that cannot pay here. */
  readonly httpCalls: readonly string[]
}

/**
 * One answer that every payer we know of can pay from. Clients read a member of `_meta`, or the same as `structuredContent` or as the
 * first text, and a model that cannot pay reads the last text.
 */
export function paymentRequired(asked: PaymentRequired, call: ToolCall): ToolResult {
  const { challenges, refusal, rails } = asked
  const reason = refusal ?? challenges[0]!.problem
  const error = refusal?.message ?? 'Payment required: pay, and repeat this call with the same arguments.'
  const meta: Members = Object.assign({}, ...challenges.map(({ wire }) => wire.meta(error)))
  const speaker = rails.find(({ mcp }) => contentIn(meta, mcp) !== undefined)
  const required = speaker && contentIn(meta, speaker.mcp)
  if (call.dialect === 'legacy' && call.http.query('challenge') === 'error') throw asError(meta, rails, reason)
  if (call.dialect === 'modern' && required && isKnown(speaker.mcp, call.clientCapabilities))
    return { resultType: 'payment_required', paymentRequired: required, _meta: meta }
  return {
    content: [...(required ? [text(stringify(required))] : []), text(explain(asked))],
    ...(required ? { structuredContent: required } : {}),
    isError: true,
    _meta: meta,
  }
}

function contentIn(meta: Members, { contentKey }: McpBinding): JsonObject | undefined {
  return contentKey === null ? undefined : (meta[contentKey] as JsonObject | undefined)
}

/** Did this client say, in the modern way, that it pays so? Only then may the answer be of a type that it must know. */
function isKnown({ extension }: McpBinding, { extensions }: Members): boolean {
  return extension !== null && isObject(extensions) && Object.hasOwn(extensions, extension)
}

function explain({ challenges, refusal, rails, summary, httpCalls }: PaymentRequired): string {
  const price = formatUsd(challenges[0]!.price)
  const labels = rails.map(({ label }) => label)
  const refused = refusal ? `The payment was not accepted: ${refusal.message} ` : ''
  return (
    `${refused}Payment required: ${price} USD (${summary}). Nothing was bought and nothing was taken. ` +
    `An MCP client that pays with ${joined(labels, 'or')} sends the payment in _meta and repeats this call with the same arguments. ` +
    `Without such a client, send the same arguments over HTTP: ${httpCalls.join(' or ')}.`
  )
}

/**
 * Some clients know only the error that the draft of their protocol defines; they ask for it with `?challenge=error`. It is not the default:
 * hosts of 2025-11-25 take -32042 for a URL to open, and 2026-07-28 forbids it.
 */
function asError(meta: Members, rails: readonly Rail[], reason: Problem): McpError {
  const asked = rails.map(({ mcp: { errorKey } }) => (errorKey === null ? {} : meta[errorKey]))
  const others = rails.map(({ name, mcp }) => ({ [name]: contentIn(meta, mcp) }))
  const data = Object.assign({ httpStatus: 402, challenges: [] }, ...asked, ...others)
  return new McpError(codeOf(reason), reason.message, { data })
}

function codeOf({ code }: Problem): number {
  if (code === 'payment_required') return CODE.paymentRequired
  return code === 'malformed_credential' || code === 'payment_payload_invalid'
    ? CODE.invalidParams
    : CODE.paymentRefused
}
