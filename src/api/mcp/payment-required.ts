import { stringify } from '../../base/json.ts'
import { formatUsd } from '../../base/money.ts'
import type { Problem } from '../../base/problem.ts'
import type { Outcome } from '../../checkout/answer.ts'
import { knowsX402, mppRequired, withError, x402Required } from './bindings.ts'
import { CODE, McpError, type Members } from './protocol.ts'
import { type ToolCall, type ToolResult, text } from './server.ts'

export type Challenged = Extract<Outcome, { kind: 'challenged' }>

type PaymentRequired = {
  /** One for each protocol that these arguments can be paid with; at least one. */
  readonly challenges: readonly Challenged[]
  /** Why a payment that was sent is not taken; null when none was. */
  readonly refusal: Problem | null
  /** What is sold. */
  readonly summary: string
  /** The same purchase over plain HTTP, for clients that cannot pay here. */
  readonly httpUrls: readonly string[]
}

/**
 * One answer that every payer we know of can pay from. x402 clients read `structuredContent` or the first text, Cloudflare's read
 * `_meta["x402/error"]`, mppx reads `_meta["org.paymentauth/payment-required"]`, and a model that cannot pay reads the last text.
 */
export function paymentRequired(asked: PaymentRequired, call: ToolCall): ToolResult {
  const { challenges, refusal } = asked
  const reason = refusal ?? challenges[0]!.problem
  const error = refusal?.message ?? 'Payment required: pay, and repeat this call with the same arguments.'
  const meta = withError(Object.assign({}, ...challenges.map(({ wire }) => wire.meta())), error)
  const required = x402Required(meta)
  if (call.dialect === 'legacy' && call.http.query('challenge') === 'error') throw asError(meta, reason)
  if (call.dialect === 'modern' && required && knowsX402(call.clientCapabilities))
    return { resultType: 'payment_required', paymentRequired: required, _meta: meta }
  return {
    content: [...(required ? [text(stringify(required))] : []), text(explain(asked))],
    ...(required ? { structuredContent: required } : {}),
    isError: true,
    _meta: meta,
  }
}

function explain({ challenges, refusal, summary, httpUrls }: PaymentRequired): string {
  const price = formatUsd(challenges[0]!.price)
  const refused = refusal ? `The payment was not accepted: ${refusal.message} ` : ''
  return (
    `${refused}Payment required: ${price} USD (${summary}). Nothing was bought and nothing was taken. ` +
    'An MCP client that pays with x402 or MPP sends the payment in _meta and repeats this call with the same arguments. ' +
    `Without such a client, POST the same arguments to ${httpUrls.join(' or ')}.`
  )
}

/**
 * Some clients of MPP know only the error that its draft defines; they ask for it with `?challenge=error`. It is not the default:
 * hosts of 2025-11-25 take -32042 for a URL to open, and 2026-07-28 forbids it.
 */
function asError(meta: Members, reason: Problem): McpError {
  const data = { httpStatus: 402, challenges: [], ...mppRequired(meta), x402: x402Required(meta) }
  return new McpError(codeOf(reason), reason.message, { data })
}

function codeOf({ code }: Problem): number {
  if (code === 'payment_required') return CODE.paymentRequired
  return code === 'malformed_credential' || code === 'payment_payload_invalid'
    ? CODE.invalidParams
    : CODE.paymentRefused
}
