import { type HttpConfig, publicUrls } from '../../config/config.ts'
import { corsHeaders } from '../http/cors.ts'
import type { HttpRequest } from '../http/request.ts'
import { CODE, RpcError } from './protocol.ts'

/** Who may come in. A web page elsewhere must not speak to a shop through its visitor's browser (DNS rebinding). */
export type OriginCheck = {
  /** Throws 403. */
  admit(http: HttpRequest): void
  /** What every answer to this caller carries. */
  headers(http: HttpRequest): Readonly<Record<string, string>>
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const PLAIN = { 'Cache-Control': 'no-store' }

export function createOriginCheck(config: HttpConfig): OriginCheck {
  const { host, port, mcpOrigins } = config
  const own = publicUrls(config).map((url) => new URL(url))
  const origins = new Set([...own.map(({ origin }) => origin), ...mcpOrigins])
  // In public, a proxy decides which names lead here. On loopback nobody does, and a foreign name means a rebinding.
  const hosts = isLoopback(host)
    ? new Set([...own.map(({ host }) => host), ...LOOPBACK.map((name) => `${name}:${port}`)])
    : null

  return {
    admit(http) {
      const origin = http.header('origin')
      if (origin !== undefined && !origins.has(origin)) throw forbidden('Origin')
      if (hosts && !hosts.has(http.header('host') ?? '')) throw forbidden('Host')
    },
    headers(http) {
      const origin = http.header('origin')
      if (origin === undefined || !origins.has(origin)) return PLAIN
      return { ...PLAIN, ...corsHeaders, 'Access-Control-Allow-Origin': origin, Vary: 'Origin' }
    },
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host)
}

function forbidden(header: string): RpcError {
  return new RpcError(CODE.invalidRequest, `Forbidden: ${header} not allowed`, { status: 403 })
}
