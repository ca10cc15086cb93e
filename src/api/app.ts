import { newId, type Random } from '../base/id.ts'
import { parseStrictJson, sha256Hex, stringify } from '../base/json.ts'
import type { Log } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { type HttpConfig, publicUrls } from '../config/config.ts'
import type { Limits } from '../config/limits.ts'
import type { FreeRoute, Host, Route } from '../domain/route.ts'
import type { PaymentGate } from './gate/payment-gate.ts'
import type { RateLimiter } from './gate/rate-limit.ts'
import { readBody } from './http/body.ts'
import { corsHeaders, preflightHeaders } from './http/cors.ts'
import { parseWith } from './http/parse.ts'
import { asProblem } from './http/problem-body.ts'
import type { Handler, Headers, Reply } from './http/reply.ts'
import { assertAcceptsJson, flowIdOf, type HttpRequest, queryOf } from './http/request.ts'
import { createRouter } from './http/router.ts'
import type { HttpApp } from './http/server.ts'
import type { AnsweredRequest } from './operator/metrics.ts'
import { createHostFinder, servesHere } from './shop/hosts.ts'
import { createReplies } from './shop/outcome-reply.ts'
import { createPaidHandler } from './shop/paid-handler.ts'

export type HttpOptions = {
  readonly routes: readonly Route[]
  /** What is served beside the table, by path: another protocol, the operator's own routes. */
  readonly others: ReadonlyMap<string, Other>
  readonly checkout: Checkout
  readonly http: HttpConfig
  readonly limits: Limits
  readonly limiter: RateLimiter
  readonly paymentGate: PaymentGate
  /** Hears of every answer. */
  readonly observe: (answered: AnsweredRequest) => void
  readonly random: Random
  readonly log: Log
}

/** Speaks for itself, errors included. */
export type Other = { readonly host: Host; readonly handle: Handler }

/** Everything about one path that does not change between requests. */
type Place = {
  readonly routes: readonly Route[]
  readonly methods: readonly string[]
  readonly preflight: Headers
  readonly isRateLimited: boolean
}

/** The route table as a function from requests to answers. */
export function createHttpApp(options: HttpOptions): HttpApp {
  const { routes, others, checkout, http, limits, limiter, paymentGate, observe, random, log } = options
  const replies = createReplies({ errorsUrl: `${http.baseUrl}/errors`, random })
  const { sell, tellPrice } = createPaidHandler({ checkout, replies, paymentGate, limiter, limits, random })
  const hostOf = createHostFinder(publicUrls(http))
  const router = createRouter(
    new Map<string, Handler>([
      ...[...placesOf(routes)].map(([path, place]) => [path, watched(path, serveAt(place))] as const),
      ...[...others].map(([path, other]) => [path, watched(path, serveOther(path, other))] as const),
    ]),
  )
  const anywhere = preflightHeaders(['GET', 'POST'])
  const vital = new Set(routes.filter((route) => route.kind === 'free' && route.isVital).map(({ path }) => path))

  function watched(route: string, handle: Handler): Handler {
    return async (request, params) => {
      const begun = checkout.clock.now()
      let reply: Reply
      try {
        reply = await handle(request, params)
      } catch (error) {
        reply = failure(request, error)
      }
      observe({ method: request.method, route, status: reply.status, ms: checkout.clock.now() - begun })
      return reply
    }
  }

  /** What leads nowhere costs its sender as much as what leads somewhere: a preflight, a wrong path, a wrong method. */
  function count(request: HttpRequest, { isRateLimited }: Pick<Place, 'isRateLimited'>): Headers {
    return isRateLimited ? limiter.take('read', request) : {}
  }

  function nowhere(request: HttpRequest): Reply {
    const { method, path } = request
    try {
      const counted = limiter.take('read', request)
      if (method === 'OPTIONS') return { status: 204, fixed: anywhere, headers: counted, body: null }
      const detail = `There is no ${method} ${path.slice(0, 100)} here.`
      if (!paymentGate.isPaid(request)) throw new Problem('route_not_found', detail)
      // What was sold here once may be shown here again, and a payer who pushes has paid before we hear of it.
      throw new Problem(
        'route_not_found',
        `${detail} Whether the payment reached this shop, GET /payments/{its transaction} tells.`,
        {
          taken: 'unknown',
        },
      )
    } catch (error) {
      return failure(request, error)
    }
  }

  function serveAt(place: Place): Handler {
    return (request, params) => serve(request, place, params)
  }

  function serveOther(path: string, { host, handle }: Other): Handler {
    return async (request, params) => {
      if (servesHere(hostOf(request), { host })) return handle(request, params)
      limiter.take('read', request)
      throw elsewhere({ host, path })
    }
  }

  function elsewhere(route: { readonly host: Host; readonly path: string }): Problem {
    return new Problem('route_not_found', `This route is served at ${route.host}${route.path}.`)
  }

  // Not async: a promise around the promise of its answer would cost each request three turns of the queue.
  function serve(request: HttpRequest, place: Place, params: object): Promise<Reply> {
    const { method } = request
    if (method === 'OPTIONS')
      return Promise.resolve({ status: 204, fixed: place.preflight, headers: count(request, place), body: null })
    const host = hostOf(request)
    let isHere = false
    for (const route of place.routes) {
      if (!servesHere(host, route)) continue
      isHere = true
      if (route.kind === 'paid') {
        if (route.method === method) return sell(request, route)
        if (method === 'GET' && route.hasPriceProbe) return tellPrice(request, route)
      } else if (route.method === (method === 'HEAD' ? 'GET' : method)) return answerFree(request, route, params, host)
    }
    count(request, place)
    if (!isHere) throw elsewhere(place.routes[0]!)
    throw new Problem('method_not_allowed', `Use ${place.methods.join(' or ')} here.`, {
      headers: { Allow: [...place.methods, 'OPTIONS'].join(', ') },
    })
  }

  async function answerFree(request: HttpRequest, route: FreeRoute, params: object, host: Host): Promise<Reply> {
    const extra = route.bucket ? limiter.take(route.bucket, request) : {}
    if (route.contentType === 'application/json') assertAcceptsJson(request)
    const bytes = await readBody(request, route.bodyBytesMax ?? limits.bodyBytesMax)
    const answered = await route.handle({
      params: route.params ? parseWith(route.params, params) : {},
      query: readQuery(request, route),
      body: route.body
        ? parseWith(route.body, bytes.length === 0 ? {} : parseStrictJson(bytes, limits.jsonDepthMax))
        : {},
      bytes,
      host,
      header: request.header,
    })
    const { status = 200, body, headers = {} } = answered
    const text = answered.bytes ?? (typeof body === 'string' ? body : stringify(body))
    const usual = usualHeaders(route)
    const dressed = isAnyOf(headers, usual)
      ? { headers: { ...usual, ...headers, ...extra } }
      : { fixed: usual, headers: { ...headers, ...extra } }
    // What anybody may keep has a validator, so that asking again costs a line instead of the document. A listing that is written once
    // for many readers brings its own along.
    if (!(headers['Cache-Control'] ?? usual['Cache-Control']).startsWith('public'))
      return { status, body: text, ...dressed }
    const etag = headers['ETag'] ?? `"${sha256Hex(text).slice(0, 32)}"`
    const isKnown = request.header('if-none-match')?.includes(etag)
    const validated = headers['ETag'] ? dressed : { ...dressed, headers: { ...dressed.headers, ETag: etag } }
    return isKnown ? { status: 304, body: null, ...validated } : { status, body: text, ...validated }
  }

  function failure(request: HttpRequest, error: unknown): Reply {
    const problem = asProblem(error)
    const flowId = flowIdOf(request, random)
    const requestId = newId('req', random)
    const { method, path } = request
    const fields = { requestId, flowId, method, path, status: problem.status, code: problem.code }
    if (problem.status >= 500) log.error('request failed', { ...fields, error })
    else log.debug('request refused', fields)
    return replies.problem(problem, { 'X-Flow-Id': flowId }, requestId)
  }

  return {
    answer(request) {
      const found = router.find(request.path)
      return found ? found.value(request, found.params) : Promise.resolve(nowhere(request))
    },
    isVital: ({ path }) => vital.has(path),
    refusal: (problem) => replies.problem(problem),
  }
}

function placesOf(routes: readonly Route[]): ReadonlyMap<string, Place> {
  const paths = Map.groupBy(routes, ({ path }) => path)
  return new Map(
    [...paths].map(([path, onPath]) => {
      const methods = [...new Set(onPath.flatMap(methodsOf))]
      const isRateLimited = onPath.every(isLimited)
      return [path, { routes: onPath, methods, preflight: preflightHeaders(methods), isRateLimited }]
    }),
  )
}

function isLimited(route: Route): boolean {
  return route.kind === 'paid' ? route.isRateLimited : route.bucket !== null
}

/** HEAD is GET without the body, but not where a GET is sold: nobody may look at goods by asking for less than all of them. */
function methodsOf(route: Route): readonly string[] {
  if (route.kind === 'paid') return route.hasPriceProbe ? [route.method, 'GET'] : [route.method]
  return route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]
}

/** Most listings are asked for without a question, and nothing is always read the same way: once for each route is enough. */
const emptyQueries = new WeakMap<FreeRoute, { readonly value: unknown }>()

function readQuery(request: HttpRequest, route: FreeRoute): unknown {
  if (!route.query) return {}
  if (request.search !== '') return parseWith(route.query, queryOf(request))
  const empty = emptyQueries.get(route) ?? { value: parseWith(route.query, {}) }
  emptyQueries.set(route, empty)
  return empty.value
}

function isAnyOf(headers: Headers, usual: Headers): boolean {
  for (const name in headers) if (name in usual) return true
  return false
}

type UsualHeaders = Headers & { readonly 'Cache-Control': string }
const usual = new WeakMap<FreeRoute, UsualHeaders>()

function usualHeaders(route: FreeRoute): UsualHeaders {
  const known = usual.get(route)
  if (known) return known
  const fresh = { ...corsHeaders, 'Cache-Control': cacheControl(route), 'Content-Type': route.contentType }
  usual.set(route, fresh)
  return fresh
}

function cacheControl({ cache }: FreeRoute): string {
  if (cache === 'no-store') return 'no-store'
  return cache === 'private' ? 'private, no-store' : `public, max-age=${cache.maxAgeSeconds}`
}
