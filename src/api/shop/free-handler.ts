import { parseStrictJson, sha256Hex, stringify } from '../../base/json.ts'
import { once } from '../../base/once.ts'
import { whenThere } from '../../base/when-there.ts'
import type { Limits } from '../../config/limits.ts'
import type { FreeAnswer, FreeRoute } from '../../domain/route.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import { readBody } from '../http/body.ts'
import { corsHeaders } from '../http/cors.ts'
import { parseWith } from '../http/parse.ts'
import { type Headers, headerList, type MethodHandlers, type Reply, type RouteHandler } from '../http/reply.ts'
import { assertAcceptsJson, type HttpRequest, queryOf } from '../http/request.ts'

export type FreeHandlerOptions = { readonly limiter: RateLimiter; readonly limits: Limits }

/** A row that costs nothing as HTTP handlers, by method. HEAD is GET without the body. */
export function compileFree(route: FreeRoute, options: FreeHandlerOptions): MethodHandlers {
  const handle = answers(route, options)
  const handlers = new Map([[route.method as string, handle]])
  if (route.method === 'GET') handlers.set('HEAD', handle)
  return handlers
}

const UNCOUNTED: Headers = {}

function answers(route: FreeRoute, { limiter, limits }: FreeHandlerOptions): RouteHandler {
  const { bucket } = route
  const isJson = route.contentType === 'application/json'
  const bytesMax = route.bodyBytesMax ?? limits.bodyBytesMax
  const readParams = paramsRule(route)
  const readQuery = queryRule(route)
  const readInput = bodyRule(route, limits)
  const dress = dresser(route)

  return (request, params, host) => {
    const extra = bucket ? limiter.take(bucket, request) : UNCOUNTED
    if (isJson) assertAcceptsJson(request)
    const answer = whenThere(readBody(request, bytesMax), (bytes) =>
      route.handle({
        params: readParams(params),
        query: readQuery(request),
        body: readInput(bytes),
        bytes,
        host,
        header: request.header,
      }),
    )
    return whenThere(answer, (answer) => dress(request, answer, extra))
  }
}

function paramsRule({ params: schema }: FreeRoute): (params: object) => unknown {
  return schema ? (params) => parseWith(schema, params) : () => ({})
}

/** Most listings are asked for without a question, and nothing is always read the same way. */
function queryRule({ query: schema }: FreeRoute): (request: HttpRequest) => unknown {
  if (!schema) return () => ({})
  const nothing = once(() => parseWith(schema, {}))
  return (request) => (request.search === '' ? nothing() : parseWith(schema, queryOf(request)))
}

function bodyRule({ body: schema }: FreeRoute, { jsonDepthMax }: Limits): (bytes: Uint8Array) => unknown {
  if (!schema) return () => ({})
  return (bytes) => parseWith(schema, bytes.length === 0 ? {} : parseStrictJson(bytes, jsonDepthMax))
}

/** Puts headers on the answers of a route: those that all of them have, those of this one, and what is left of an allowance. */
function dresser(route: FreeRoute): (request: HttpRequest, answer: FreeAnswer, extra: Headers) => Reply {
  // Where people get a page, machines get JSON at the same address.
  const vary: Headers = route.contentType === 'application/json' && !route.isDocument ? { Vary: 'Accept' } : {}
  const usual = { ...corsHeaders(), 'Cache-Control': cacheControl(route), 'Content-Type': route.contentType, ...vary }
  const fixed = headerList(usual)

  return (request, { status = 200, body, bytes, headers = {} }, extra) => {
    const text = bytes ?? (typeof body === 'string' ? body : stringify(body))
    const dressed = isAnyOf(headers, usual)
      ? { headers: { ...usual, ...headers, ...extra } }
      : { fixed, headers: { ...headers, ...extra } }
    // What anybody may keep has a validator, so that asking again costs a line instead of the document. A listing that is written once
    // for many readers brings its own along.
    if (!(headers['Cache-Control'] ?? usual['Cache-Control']).startsWith('public'))
      return { status, body: text, ...dressed }
    const etag = headers['ETag'] ?? `"${sha256Hex(text).slice(0, 32)}"`
    const isKnown = request.header('if-none-match')?.includes(etag)
    const validated = headers['ETag'] ? dressed : { ...dressed, headers: { ...dressed.headers, ETag: etag } }
    return isKnown ? { status: 304, body: null, ...validated } : { status, body: text, ...validated }
  }
}

function isAnyOf(headers: Headers, usual: Headers): boolean {
  for (const name in headers) if (name in usual) return true
  return false
}

function cacheControl({ cache }: FreeRoute): string {
  if (cache === 'no-store') return 'no-store'
  return cache === 'private' ? 'private, no-store' : `public, max-age=${cache.maxAgeSeconds}`
}
