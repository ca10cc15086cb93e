// Browser agents pay too: the 402 itself must be readable, and so must the receipts. No cookies are used, so any origin may call.

const ALLOWED = [
  'content-type',
  'authorization',
  'accept-payment',
  'payment-signature',
  'x-payment',
  'idempotency-key',
  'x-flow-id',
  // A stock client sends this response header as a request header.
  'access-control-expose-headers',
  'mcp-protocol-version',
  'mcp-session-id',
  'mcp-method',
  'mcp-name',
]

const EXPOSED = [
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'WWW-Authenticate',
  'Payment-Receipt',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Location',
  'ETag',
  'X-Flow-Id',
  'Idempotent-Replayed',
]

export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': EXPOSED.join(', '),
} as const

export function preflightHeaders(methods: readonly string[]): Readonly<Record<string, string>> {
  return {
    ...corsHeaders,
    'Access-Control-Allow-Methods': [...methods, 'OPTIONS'].join(', '),
    'Access-Control-Allow-Headers': ALLOWED.join(', '),
    'Access-Control-Max-Age': '86400',
    Allow: [...methods, 'OPTIONS'].join(', '),
  }
}
