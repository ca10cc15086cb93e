import { Challenge, Credential } from 'mppx'
import type { Asked, Heard } from './request.ts'
import type { Way } from './wallet.ts'

/** A request as it travels, and how its answer is read: as the route would have answered. */
type Carried = { readonly request: Asked; read(heard: Heard): Heard }
type Shown = { readonly way: Way; readonly value: string } | null

export function overHttp(asked: Asked, shown: Shown): Carried {
  const headers = shown ? { [shown.way.header]: shown.value } : {}
  return { request: { ...asked, headers }, read: (heard) => heard }
}

const X402_REQUIRED = 'x402/error'
const MPP_REQUIRED = 'org.paymentauth/payment-required'
const PROBLEM = 'sutler/problem'
const INTERNAL_ERROR = -32603

type ToolResult = {
  readonly isError?: boolean
  readonly content: readonly { readonly text: string }[]
  readonly structuredContent?: { readonly next?: unknown }
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** The same thing as a tool call: the payment stands in `_meta`, and so does what is asked for. */
export function overMcp(tool: string, { body = {} }: Asked, shown: Shown): Carried {
  const meta = shown ? metaOf(shown) : {}
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: body, _meta: meta } }
  const request = { method: 'POST', path: '/mcp', headers: { accept: 'application/json' }, body: call }
  return { request, read: readResult }
}

function metaOf({ way, value }: NonNullable<Shown>): Record<string, unknown> {
  if (way.rail === 'x402') return { 'x402/payment': value }
  return { 'org.paymentauth/credential': Credential.deserialize(value) }
}

function readResult(heard: Heard): Heard {
  const { result, error } = JSON.parse(heard.text) as {
    readonly result?: ToolResult
    readonly error?: { readonly code: number; readonly message: string }
  }
  // A tool that is gone, with the rail that sold it, is what a path that is gone would be.
  if (error && heard.status === 200)
    return {
      status: error.code === INTERNAL_ERROR ? 500 : 404,
      headers: {},
      text: JSON.stringify({ code: error.message }),
    }
  if (!result) return heard
  const { _meta: meta = {}, content, structuredContent, isError } = result
  const problem = meta[PROBLEM] as { readonly status: number } | undefined
  if (meta[X402_REQUIRED] || meta[MPP_REQUIRED]) return unpaid(meta, problem)
  if (problem) return { status: problem.status, headers: {}, text: JSON.stringify(problem) }
  if (isError) return heard
  return { status: structuredContent?.next ? 202 : 200, headers: {}, text: content[0]!.text }
}

/** As headers, which is what the wallets read. */
function unpaid(meta: Readonly<Record<string, unknown>>, problem: object | undefined): Heard {
  const { challenges = [] } = (meta[MPP_REQUIRED] ?? {}) as { readonly challenges?: readonly unknown[] }
  const headers = {
    'payment-required': Buffer.from(JSON.stringify(meta[X402_REQUIRED] ?? null)).toString('base64'),
    ...(challenges[0] ? { 'www-authenticate': Challenge.serialize(Challenge.Schema.parse(challenges[0])) } : {}),
  }
  const text = JSON.stringify(problem ?? { code: 'payment_required', payment: { taken: false } })
  return { status: 402, headers, text }
}
