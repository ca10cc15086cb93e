import { Hono } from 'hono'
import type { Random } from '../base/id.ts'
import { type JsonObject, parseStrictJson, stringify } from '../base/json.ts'
import type { Log } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { purchase } from '../checkout/purchase.ts'
import type { HttpConfig } from '../config/config.ts'
import type { Limits } from '../config/limits.ts'
import { createAnswers } from './answers.ts'
import { preflightHeaders } from './cors.ts'
import { assertOnePayment, flowIdOf, type HttpContext, hasPayment, isEmptyBody, queryOf, readBody } from './exchange.ts'
import { hostOf, otherHostOf, servesHere } from './hosts.ts'
import { parseWith } from './parse.ts'
import { asProblem } from './problem-body.ts'
import type { RateLimiter } from './rate-limit.ts'
import type { FreeRoute, Host, PaidRoute, Route } from './route.ts'

export type HttpOptions = {
  readonly routes: readonly Route[]
  readonly checkout: Checkout
  readonly http: HttpConfig
  readonly limits: Limits
  readonly limiter: RateLimiter
  readonly random: Random
  readonly log: Log
}

type App = Hono<{ Bindings: NonNullable<HttpContext['env']> }>

/** The route table as an HTTP application. The gate stands inside each paid handler, never on a path pattern beside it. */
export function createHttpApp(options: HttpOptions): App {
  const { routes, checkout, http, limits, limiter, random, log } = options
  const answers = createAnswers({ errorsUrl: `${http.baseUrl}/errors`, random })
  const app: App = new Hono()

  async function serve(c: HttpContext, onPath: readonly Route[]): Promise<Response> {
    const methods = methodsOf(onPath)
    try {
      if (c.req.method === 'OPTIONS') return new Response(null, { status: 204, headers: preflightHeaders(methods) })
      const host = hostOf(http, c.req.header('host'))
      const here = onPath.filter((route) => servesHere(host, route))
      if (here.length === 0)
        throw new Problem(
          'route_not_found',
          `This route is served at ${otherHostOf(http, onPath[0]!)}${onPath[0]!.path}.`,
        )
      const route = here.find(({ method }) => method === c.req.method)
      if (route) return await (route.kind === 'paid' ? sell(c, route) : answerFree(c, route, host))
      const probed =
        c.req.method === 'GET' ? here.find((route) => route.kind === 'paid' && route.hasPriceProbe) : undefined
      if (probed?.kind === 'paid') return await tellPrice(c, probed)
      throw new Problem('method_not_allowed', `Use ${methods.join(' or ')} here.`)
    } catch (error) {
      return fail(c, error, { isPaid: onPath.some(({ kind }) => kind === 'paid'), methods })
    }
  }

  async function sell(c: HttpContext, route: PaidRoute): Promise<Response> {
    assertOnePayment(c)
    if (route.isRateLimited && !hasPayment(c)) limiter.take('unpaid', c)
    const bytes = await readBody(c, limits.bodyBytesMax)
    const isEmpty = isEmptyBody(bytes)
    const flowId = flowIdOf(c, random)
    const outcome = await purchase(checkout, route.offer, {
      resource: resourceOf(http, route),
      incoming: { header: (name) => c.req.header(name), meta: () => undefined },
      body: isEmpty ? null : bytes,
      bodyIsBound: route.bodyIsBound,
      isProbe: isEmpty && route.body !== null,
      parse: () => parseBody(route, bytes, isEmpty, limits),
      flowId,
      idempotencyKey: idempotencyKeyOf(c),
    })
    return answers.outcome(outcome, flowId)
  }

  async function tellPrice(c: HttpContext, route: PaidRoute): Promise<Response> {
    if (hasPayment(c))
      throw new Problem(
        'method_not_allowed',
        'A GET only tells the price; nothing was taken. Send the payment with POST.',
      )
    limiter.take('unpaid', c)
    const flowId = flowIdOf(c, random)
    const incoming = { header: () => undefined, meta: () => undefined }
    const nothing = {
      body: null,
      bodyIsBound: route.bodyIsBound,
      isProbe: true,
      parse: () => ({}),
      idempotencyKey: null,
    }
    return answers.outcome(
      await purchase(checkout, route.offer, { resource: resourceOf(http, route), incoming, flowId, ...nothing }),
      flowId,
    )
  }

  async function answerFree(c: HttpContext, route: FreeRoute, host: Host): Promise<Response> {
    if (route.bucket) limiter.take(route.bucket, c)
    const bytes = await readBody(c, route.bodyBytesMax ?? limits.bodyBytesMax)
    const answer = await route.handle({
      params: route.params ? parseWith(route.params, c.req.param()) : {},
      query: route.query ? parseWith(route.query, queryOf(c)) : {},
      body: route.body
        ? parseWith(route.body, bytes.length === 0 ? {} : parseStrictJson(bytes, limits.jsonDepthMax))
        : {},
      bytes,
      host,
    })
    const { status = 200, body, headers = {} } = answer
    const text = typeof body === 'string' ? body : stringify(body)
    return answers.json(status, text, {
      'Cache-Control': cacheControl(route),
      'Content-Type': route.contentType,
      ...headers,
    })
  }

  function fail(c: HttpContext, error: unknown, route: { isPaid: boolean; methods: readonly string[] }): Response {
    const problem = asProblem(error)
    if (problem.status >= 500)
      log.error('request failed', { method: c.req.method, path: c.req.path, code: problem.code, error })
    return answers.problem(problem, route)
  }

  const unknown = { isPaid: false, methods: [] }
  for (const [path, onPath] of byPath(routes)) app.all(path.replace(/\{(\w+)\}/g, ':$1'), (c) => serve(c, onPath))
  app.notFound((c) =>
    answers.problem(
      new Problem('route_not_found', `There is no ${c.req.method} ${c.req.path.slice(0, 100)} here.`),
      unknown,
    ),
  )
  app.onError((error, c) => fail(c, error, unknown))
  return app
}

function byPath(routes: readonly Route[]): Map<string, Route[]> {
  const paths = new Map<string, Route[]>()
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route])
  return paths
}

function methodsOf(routes: readonly Route[]): readonly string[] {
  const methods = routes.flatMap((route) =>
    route.kind === 'paid' && route.hasPriceProbe ? [route.method, 'GET'] : [route.method],
  )
  return [...new Set(methods)]
}

/** Public addresses come from configuration: a Host header must not decide what a payer signs. */
export function resourceOf(http: HttpConfig, route: PaidRoute) {
  const base = route.host === 'mpp' ? http.baseUrl : http.x402BaseUrl
  return {
    url: base + route.path,
    scope: `${route.method} ${route.path}`,
    description: route.summary,
    discovery: route.discovery,
  }
}

function parseBody(route: PaidRoute, bytes: Uint8Array, isEmpty: boolean, limits: Limits): JsonObject {
  if (route.body !== null) return parseWith(route.body, isEmpty ? {} : parseStrictJson(bytes, limits.jsonDepthMax))
  if (!isEmpty) throw new Problem('invalid_request', 'This route has no parameters; send no body, or {}.')
  return {}
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{8,128}$/

function idempotencyKeyOf(c: HttpContext): string | null {
  const key = c.req.header('idempotency-key')
  if (key === undefined) return null
  if (!IDEMPOTENCY_KEY.test(key))
    throw new Problem('invalid_request', 'An Idempotency-Key is 8 to 128 visible ASCII characters.')
  return key
}

function cacheControl({ cache }: FreeRoute): string {
  if (cache === 'no-store') return 'no-store'
  return cache === 'private' ? 'private, no-store' : `public, max-age=${cache.maxAgeSeconds}`
}
