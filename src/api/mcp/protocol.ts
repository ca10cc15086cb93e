/** Revisions that open with `initialize`, newest first: an unknown one is answered with the first. */
export const LEGACY_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const
/** Revisions without a handshake: every request says in `_meta` who asks and which revision it speaks. */
export const MODERN_REVISIONS = ['2026-07-28'] as const
export const SUPPORTED_REVISIONS: readonly string[] = [...MODERN_REVISIONS, ...LEGACY_REVISIONS]

export const META = {
  revision: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const

/** JSON-RPC's own codes, MCP's, and the two of a payment protocol's transport, which the modern dialect gave to another meaning. */
export const CODE = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  unsupportedRevision: -32022,
  paymentRequired: -32042,
  paymentRefused: -32043,
} as const

/** An answer that is a JSON-RPC error. The modern dialect gives some of them an HTTP status of their own. */
export class RpcError extends Error {
  readonly code: number
  readonly status: number
  readonly data: unknown
  constructor(code: number, message: string, extra: { readonly status?: number; readonly data?: unknown } = {}) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.status = extra.status ?? 200
    this.data = extra.data
  }
}

export type RpcId = string | number
export type Members = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
