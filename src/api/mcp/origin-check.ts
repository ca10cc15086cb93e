import { type HttpConfig, publicUrls } from '../../config/config.ts'
import { corsHeaders } from '../http/cors.ts'
import type { HttpRequest } from '../http/request.ts'
import { CODE, McpError } from './protocol.ts'

/** Who may come in. A web page elsewhere must not speak to a shop through its visitor's browser; foreign names are refused for all routes. */
type OriginCheck = {
  /** Throws 403. */
  admit(http: HttpRequest): void
  /** What every answer to this caller carries. */
  headers(http: HttpRequest): Readonly<Record<string, string>>
}

const PLAIN = { 'Cache-Control': 'no-store' }

export function createOriginCheck(config: HttpConfig): OriginCheck {
  const { mcpOrigins } = config
  const cors = corsHeaders()
  const origins = new Set([...publicUrls(config).map((url) => new URL(url).origin), ...mcpOrigins])

  return {
    admit(http) {
      const origin = http.header('origin')
      if (origin !== undefined && !origins.has(origin))
        throw new McpError(CODE.invalidRequest, 'Forbidden: Origin not allowed', { status: 403 })
    },
    headers(http) {
      const origin = http.header('origin')
      if (origin === undefined || !origins.has(origin)) return PLAIN
      return { ...PLAIN, ...cors, 'Access-Control-Allow-Origin': origin, Vary: 'Origin' }
    },
  }
}
