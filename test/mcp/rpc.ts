import type { JsonObject } from '../../src/base/json.ts'
import { until } from '../support/until.ts'

export type RpcAnswer = {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly id?: string | number
    readonly result?: Readonly<Record<string, unknown>>
    readonly error?: {
      readonly code: number
      readonly message: string
      readonly data?: Readonly<Record<string, unknown>>
    }
  }
}

export type CallOptions = {
  readonly id?: string | number
  readonly headers?: Readonly<Record<string, string>>
  readonly meta?: Readonly<Record<string, unknown>>
  readonly era?: 'legacy' | 'modern'
  readonly clientCapabilities?: JsonObject
  /** How it is sent, where that is not by `fetch`. */
  readonly send?: Send
}

type Send = (
  url: string,
  request: { readonly method: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
) => Promise<Response>

export const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json' }

export const modernMeta = (clientCapabilities: JsonObject = {}) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
})

/** One question over plain HTTP, as a client without any SDK asks it. */
export async function rpc(
  url: string,
  method: string,
  params: JsonObject = {},
  options: CallOptions = {},
): Promise<RpcAnswer> {
  const { id = 1, headers = {}, meta = {}, era = 'legacy', clientCapabilities = {}, send = fetch } = options
  const isModern = era === 'modern'
  const subject = params['name'] ?? params['uri']
  const response = await send(url, {
    method: 'POST',
    headers: {
      ...JSON_HEADERS,
      ...(isModern ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method } : {}),
      ...(isModern && typeof subject === 'string' ? { 'mcp-name': subject } : {}),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id,
      method,
      params: { ...params, _meta: { ...(isModern ? modernMeta(clientCapabilities) : {}), ...meta } },
    }),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as RpcAnswer['body'] }
}

/** What a tool answered; a JSON-RPC error is a failure of the test. */
export async function callTool(
  url: string,
  name: string,
  input: JsonObject,
  options: CallOptions = {},
): Promise<CallResult> {
  const { body } = await rpc(url, 'tools/call', { name, arguments: input }, options)
  if (!body.result) throw new Error(`no result: ${JSON.stringify(body.error)}`)
  return body.result as CallResult
}

export type CallResult = {
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: boolean
  readonly _meta: Readonly<Record<string, unknown>>
  readonly resultType?: string
}

/** What the status tool says once the order has come so far. */
export async function statusWhen(
  url: string,
  paymentTx: string,
  wanted: string,
): Promise<Readonly<Record<string, unknown>>> {
  let answer: CallResult['structuredContent']
  await until(async () => {
    answer = (await callTool(url, 'get_purchase_status', { paymentTx })).structuredContent
    return (answer!['boundTo'] as { status: string }).status === wanted
  })
  return answer!
}
