import { declaredRails } from '../../domain/rail.ts'

// Browser agents pay too: the 402 itself must be readable, and so must the receipts. No cookies are used, so any origin may call.

const allowed = () => [
  'content-type',
  ...inRequests().flatMap(({ credential, alsoSent }) => [credential.name.toLowerCase(), ...alsoSent]),
  'idempotency-key',
  'x-flow-id',
  // A stock client sends this response header as a request header.
  'access-control-expose-headers',
  'mcp-protocol-version',
  'mcp-session-id',
  'mcp-method',
  'mcp-name',
]

const exposed = () => [
  ...declaredRails().flatMap(({ headers }) => [headers.challenge, headers.receipt]),
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Location',
  'ETag',
  'X-Flow-Id',
  'Idempotent-Replayed',
]

/** Requests have named the newest protocol first from the beginning. */
function inRequests() {
  return declaredRails()
    .map(({ headers }) => headers)
    .toReversed()
}

/** What an answer to a paid route depends on. */
export function varyHeader(): string {
  return [...inRequests().map(({ credential }) => credential.name), 'Origin', 'Accept'].join(', ')
}

export function corsHeaders() {
  return { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': exposed().join(', ') } as const
}

export function preflightHeaders(methods: readonly string[]): Readonly<Record<string, string>> {
  return {
    ...corsHeaders(),
    'Access-Control-Allow-Methods': [...methods, 'OPTIONS'].join(', '),
    'Access-Control-Allow-Headers': allowed().join(', '),
    'Access-Control-Max-Age': '86400',
    Allow: [...methods, 'OPTIONS'].join(', '),
  }
}
