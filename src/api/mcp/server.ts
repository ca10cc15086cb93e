import type { JsonObject } from '../../base/json.ts'
import type { HttpRequest } from '../http/request.ts'
import type { Members } from './protocol.ts'

/** What this endpoint has to offer. Fixed at start: lists are printed once and never change. */
export type McpServer = {
  readonly info: { readonly name: string; readonly title: string; readonly version: string } & JsonObject
  /** How a model should go about this shop. */
  readonly instructions: string
  readonly tools: readonly McpTool[]
  readonly resources: readonly McpResource[]
  readonly templates: readonly McpTemplate[]
  readonly prompts: readonly McpPrompt[]
  /** Beyond tools and resources. */
  readonly capabilities: { readonly legacy: JsonObject; readonly modern: JsonObject }
}

export type McpTool = {
  readonly name: string
  /** As `tools/list` prints it. Made when somebody asks for that list: most shops start more often than anybody does. */
  listing(): JsonObject
  /** What its `_meta` says of the price at this moment. */
  priceMeta?(): Promise<JsonObject>
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

/** A family of resources, by what stands in the place of its one variable. */
export type McpTemplate = {
  readonly listing: { readonly uriTemplate: string; readonly name: string; readonly mimeType: string } & JsonObject
  /** Before the variable. */
  readonly prefix: string
  read(value: string, http: HttpRequest): Promise<ResourceContent>
}

/** Words that a person picks, to begin with. */
export type McpPrompt = {
  readonly listing: {
    readonly name: string
    readonly title: string
    readonly description: string
    readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[]
  }
  text(given: Readonly<Record<string, string>>): string
}

export type ResourceContent = { readonly text: string } | { readonly blob: string }

export function text(value: string): ContentBlock {
  return { type: 'text', text: value }
}
