import { newId, type Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import type { Checkout } from '../checkout/checkout.ts'
import type { HttpConfig } from '../config/config.ts'
import type { Limits } from '../config/limits.ts'
import type { Host, Route } from '../domain/route.ts'
import { compilePlaces, type RoutePlace } from './compile.ts'
import type { FactsSource } from './facts/facts.ts'
import type { PaymentGate } from './gate/payment-gate.ts'
import type { RateLimiter } from './gate/rate-limit.ts'
import { preflightHeaders } from './http/cors.ts'
import { asProblem } from './http/problem-body.ts'
import { type Handler, headerList, type Reply } from './http/reply.ts'
import { flowIdOf, type HttpRequest } from './http/request.ts'
import { createRouter } from './http/router.ts'
import type { HttpApp } from './http/serving.ts'
import type { AnsweredRequest } from './operator/metrics.ts'
import { wantsPage } from './pages/accept-header.ts'
import { createPresenter } from './pages/presenter.ts'
import { createHostFinder, servesHere } from './shop/hosts.ts'
import { createReplies, type Replies } from './shop/outcome-reply.ts'
import { createSuggestions } from './shop/suggestions.ts'

type HttpOptions = {
  readonly routes: readonly Route[]
  /** What pages tell beside the answer itself. */
  readonly factsOf: FactsSource
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
export type Other = {
  readonly host: Host
  readonly handle: Handler
  /** What a browser that navigates gets here instead. */
  readonly page?: Handler
}

/** The route table as a function from requests to answers. */
export function createHttpApp(options: HttpOptions): HttpApp {
  const { routes, others, http, random } = options
  const replies = createReplies({ errorsUrl: `${http.baseUrl}/errors`, random })
  const failure = createFailure(replies, options)
  const hostOf = createHostFinder(http)
  const watched = watcher(options, failure)
  const handlers = [
    ...[...compilePlaces(routes, { ...options, replies })].map(
      ([path, place]) => [path, watched(path, serveAt(place, hostOf, options))] as const,
    ),
    ...[...others].map(([path, other]) => [path, watched(path, serveOther(path, other, hostOf, options))] as const),
  ]
  const router = createRouter(
    new Map(handlers.map(([path, handle]) => [path, { path, handle, hasPage: others.get(path)?.page !== undefined }])),
  )
  const presenter = createPresenter({ ...options, hostOf, isPaid: options.paymentGate.isPaid })
  const nowhere = createNowhere(options, failure)
  const vital = new Set(routes.filter((route) => route.kind === 'free' && route.isVital).map(({ path }) => path))

  return {
    answer(request) {
      const found = router.find(request.path)
      const answer = found ? (asked: HttpRequest) => found.value.handle(asked, found.params) : nowhere
      if (found?.value.hasPage || !presenter.isWanted(request)) return answer(request)
      return presenter.show(request, found?.value.path ?? null, answer)
    },
    isVital: ({ path }) => vital.has(path),
    refusal: (problem, request) => replies.problem(request ? options.paymentGate.asHeard(request, problem) : problem),
  }
}

type Failure = (request: HttpRequest, error: unknown) => Reply
type HostFinder = (request: HttpRequest) => Host

function createFailure(replies: Replies, { paymentGate, random, log }: HttpOptions): Failure {
  return (request, error) => {
    const problem = paymentGate.asHeard(request, asProblem(error))
    const flowId = flowIdOf(request, random)
    const requestId = newId('req', random)
    const { method, path } = request
    const fields = { requestId, flowId, method, path, status: problem.status, code: problem.code }
    if (problem.status >= 500) log.error('request failed', { ...fields, error })
    else log.debug('request refused', fields)
    return replies.problem(problem, { 'X-Flow-Id': flowId }, requestId)
  }
}

/** Whatever a handler throws is an answer, and whatever it answers is counted. */
function watcher({ checkout: { clock }, observe, random }: HttpOptions, failure: Failure) {
  return (route: string, handle: Handler): Handler =>
    (request, params) => {
      const begun = clock.now()
      const seen = (reply: Reply): Reply => {
        observe({ method: request.method, route, status: reply.status, ms: clock.now() - begun })
        return traced(request, reply, random)
      }
      try {
        const reply = handle(request, params)
        return reply instanceof Promise
          ? reply.then(seen, (error: unknown) => seen(failure(request, error)))
          : seen(reply)
      } catch (error) {
        return seen(failure(request, error))
      }
    }
}

/** Whatever is asked can be told apart from everything else that was, by the caller's own name for it or by ours. */
function traced(request: HttpRequest, reply: Reply, random: Random): Reply {
  if ('X-Flow-Id' in reply.headers) return reply
  return { ...reply, headers: { ...reply.headers, 'X-Flow-Id': flowIdOf(request, random) } }
}

/** A path of the table. */
function serveAt(place: RoutePlace, hostOf: HostFinder, { limiter }: HttpOptions): Handler {
  /** What leads nowhere costs its sender as much as what leads somewhere: a preflight, a wrong path, a wrong method. */
  const count = (request: HttpRequest) => (place.isRateLimited ? limiter.take('read', request) : {})

  return (request, params) => {
    const { method } = request
    if (method === 'OPTIONS') return { status: 204, fixed: place.preflight, headers: count(request), body: null }
    const host = hostOf(request)
    let isHere = false
    for (const { route, handlers } of place.rows) {
      if (!servesHere(host, route)) continue
      isHere = true
      const handle = handlers.get(method)
      if (handle) return handle(request, params, host)
    }
    count(request)
    if (!isHere) throw elsewhere(place.rows[0]!.route)
    throw new Problem('method_not_allowed', `Use ${place.methods.join(' or ')} here.`, {
      headers: { Allow: place.allow },
    })
  }
}

function serveOther(path: string, other: Other, hostOf: HostFinder, { limiter }: HttpOptions): Handler {
  const { host, handle, page } = other
  return (request, params) => {
    if (servesHere(hostOf(request), { host })) return (page && wantsPage(request) ? page : handle)(request, params)
    limiter.take('read', request)
    throw elsewhere({ host, path })
  }
}

function elsewhere({ host, path }: { readonly host: Host; readonly path: string }): Problem {
  return new Problem('route_not_found', `This route is served at ${host}${path}.`)
}

/** A path that nothing is at. */
function createNowhere(
  { routes, limiter, paymentGate }: HttpOptions,
  failure: Failure,
): (request: HttpRequest) => Reply {
  const preflight = headerList(preflightHeaders(['GET', 'POST']))
  const suggest = createSuggestions(routes)
  return (request) => {
    const { method, path } = request
    try {
      const counted = limiter.take('read', request)
      if (method === 'OPTIONS') return { status: 204, fixed: preflight, headers: counted, body: null }
      const { members, near } = suggest(path)
      const detail = `There is no ${method} ${path.slice(0, 60)} here${near ? `; there is ${near}` : ''}.`
      if (!paymentGate.isPaid(request)) throw new Problem('route_not_found', detail, { members })
      // What was sold here once may be shown here again, and a payer who pushes has paid before we hear of it.
      throw new Problem(
        'route_not_found',
        `${detail} Whether the payment reached this shop, GET /payments/{its transaction} tells.`,
        { taken: 'unknown', members },
      )
    } catch (error) {
      return failure(request, error)
    }
  }
}
