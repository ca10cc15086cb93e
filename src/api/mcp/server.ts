import type { JsonObject } from '../../base/json.ts'
import type { Usd } from '../../base/money.ts'
import type { HttpRequest } from '../http/request.ts'
import type { Members } from './protocol.ts'

/** What this endpoint has to offer. Fixed at start; only prices change. */
export type McpServer = {
  readonly info: { readonly name: string; readonly title: string; readonly version: string } & JsonObject
  /** How a model should go about this shop. */
  readonly instructions: string
  readonly tools: readonly McpTool[]
  readonly resources: readonly McpResource[]
  /** Beyond tools and resources. */
  readonly capabilities: { readonly legacy: JsonObject; readonly modern: JsonObject }
}

export type McpTool = {
  /** As `tools/list` prints it, but for the price. */
  readonly listing: { readonly name: string } & JsonObject
  /** What everybody pays for it now; absent where that depends on the arguments, and for what is free. */
  readonly price?: () => Usd | Promise<Usd>
  /** Throws Problem for what the caller can mend, RpcError for what is no answer of a tool at all. */
  call(input: JsonObject, call: ToolCall): Promise<ToolResult>
}

/** One call, beside its arguments. */
export type ToolCall = {
  readonly dialect: 'legacy' | 'modern'
  /** `_meta` of the request: where payments travel. */
  readonly meta: Members
  readonly clientCapabilities: Members
  readonly http: HttpRequest
}

type ContentBlock = { readonly type: string } & JsonObject

export type ToolResult = {
  readonly content?: readonly ContentBlock[]
  readonly structuredContent?: JsonObject
  readonly isError?: boolean
  readonly _meta?: Members
  /** The modern dialect has other ends than `complete`. */
  readonly resultType?: string
  readonly paymentRequired?: JsonObject
}

export type McpResource = {
  readonly listing: { readonly uri: string; readonly name: string; readonly mimeType: string } & JsonObject
  read(http: HttpRequest): Promise<ResourceContent>
}

export type ResourceContent = { readonly text: string } | { readonly blob: string }

export function text(value: string): ContentBlock {
  return { type: 'text', text: value }
}
