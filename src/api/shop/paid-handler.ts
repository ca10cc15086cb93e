import type { Random } from '../../base/id.ts'
import { type JsonObject, parseStrictJson } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { whenThere } from '../../base/when-there.ts'
import type { Outcome } from '../../checkout/answer.ts'
import type { Checkout } from '../../checkout/checkout.ts'
import type { PurchaseRequest } from '../../checkout/paid-call.ts'
import { ask, purchase, refuse } from '../../checkout/purchase.ts'
import type { Limits } from '../../config/limits.ts'
import { IDEMPOTENCY_KEY } from '../../domain/fields.ts'
import type { Offer } from '../../domain/offer.ts'
import type { Incoming, Resource } from '../../domain/rail.ts'
import type { PaidRoute, Route } from '../../domain/route.ts'
import { createMisplacedFinder } from '../gate/misplaced-payment.ts'
import type { PaymentGate } from '../gate/payment-gate.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import { isEmptyBody, readBody } from '../http/body.ts'
import { parseWith } from '../http/parse.ts'
import type { Headers, MethodHandlers, RouteHandler } from '../http/reply.ts'
import { assertAcceptsJson, flowIdOf, type HttpRequest } from '../http/request.ts'
import type { Replies } from './outcome-reply.ts'

export type PaidHandlerOptions = {
  /** The whole table: a payment that is not for this route may be for another. */
  readonly routes: readonly Route[]
  readonly checkout: Checkout
  readonly replies: Replies
  readonly paymentGate: PaymentGate
  readonly limiter: RateLimiter
  readonly limits: Limits
  readonly random: Random
}

const noMeta = () => undefined
const NOTHING_SENT: Incoming = { header: () => undefined, meta: noMeta }
const UNLIMITED: Headers = {}

/** A paid row as HTTP handlers, by method. The gate stands in here, never on a path pattern beside it. */
export function compilePaid(route: PaidRoute, options: PaidHandlerOptions): MethodHandlers {
  const { offer } = route
  const resource = resourceOf(route)
  const terms: Fixed = { resource, bodyIsBound: route.bodyIsBound, challenge: offer.rail.challenger(resource) }
  const handlers = new Map<string, RouteHandler>([[route.method, sells(route, terms, options)]])
  if (route.hasPriceProbe && route.method !== 'GET') handlers.set('GET', tellsPrice(offer, terms, options))
  return handlers
}

/** What a call does not change of the terms. */
type Fixed = Pick<PurchaseRequest<JsonObject>, 'resource' | 'bodyIsBound' | 'challenge'>

function sells(route: PaidRoute, terms: Fixed, options: PaidHandlerOptions): RouteHandler {
  const { checkout, replies, paymentGate, limiter, limits, random } = options
  const { offer, isRateLimited } = route
  const parse = bodyRule(route, limits)
  const misplacedIn = createMisplacedFinder(route, options)

  return (request) => {
    assertAcceptsJson(request)
    const isPaid = paymentGate.isPaid(request)
    const flowId = flowIdOf(request, random)
    const incoming = isPaid ? { header: request.header, meta: noMeta } : NOTHING_SENT
    const extra = !isPaid && isRateLimited ? limiter.take('unpaid', request) : UNLIMITED
    const key = idempotencyKeyOf(request)
    const callWith = (bytes: Uint8Array): PurchaseRequest<JsonObject> => {
      const isEmpty = isEmptyBody(bytes)
      return {
        ...terms,
        incoming,
        client: limiter.clientOf(request),
        body: isEmpty ? null : bytes,
        isProbe: isEmpty && route.body !== null,
        parse: () => parse(bytes, isEmpty),
        flowId,
        idempotencyKey: key,
      }
    }
    const misplaced = misplacedIn(request, isPaid)
    const buy = async (bytes: Uint8Array) =>
      misplaced ? refuse(checkout, offer, callWith(bytes), misplaced) : purchase(checkout, offer, callWith(bytes))
    const settle = (bytes: Uint8Array): Outcome | Promise<Outcome> => {
      if (isPaid) return paymentGate.admit(request, { route, incoming }, () => buy(bytes))
      return misplaced ? buy(bytes) : ask(checkout, offer, callWith(bytes))
    }
    // Before the gate: whoever lets us wait for the body must not keep a place there.
    const outcome = whenThere(readBody(request, limits.bodyBytesMax), settle)
    return whenThere(outcome, (outcome) => replies.outcome(outcome, flowId, extra))
  }
}

/** What a GET on a buy path answers: the price, and never a purchase. */
function tellsPrice(offer: Offer, terms: Fixed, options: PaidHandlerOptions): RouteHandler {
  const { checkout, replies, paymentGate, limiter, random } = options
  return (request) => {
    assertAcceptsJson(request)
    const isPaid = paymentGate.isPaid(request)
    const extra = limiter.take('unpaid', request)
    if (isPaid)
      throw new Problem(
        'method_not_allowed',
        'A GET only tells the price; nothing was taken. Send the payment with POST.',
      )
    const flowId = flowIdOf(request, random)
    const question = { ...NOTHING_ASKED, ...terms, client: limiter.clientOf(request), flowId }
    return whenThere(ask(checkout, offer, question), (outcome) => replies.outcome(outcome, flowId, extra))
  }
}

const NOTHING_ASKED = {
  incoming: NOTHING_SENT,
  body: null,
  isProbe: true,
  parse: () => ({}),
  idempotencyKey: null,
} as const

/** Public addresses come from configuration: a Host header must not decide what a payer signs. */
export function resourceOf(route: PaidRoute): Resource {
  return {
    url: route.offer.rail.baseUrl + route.path,
    scope: `${route.method} ${route.path}`,
    description: route.summary,
    tags: ['commerce', 'gaming', route.surface],
    iconUrl: `${route.offer.rail.baseUrl}/favicon.png`,
    discovery: route.discovery,
  }
}

/** How a body of this route is read. */
function bodyRule({ body }: PaidRoute, { jsonDepthMax }: Limits): (bytes: Uint8Array, isEmpty: boolean) => JsonObject {
  if (body !== null) return (bytes, isEmpty) => parseWith(body, isEmpty ? {} : parseStrictJson(bytes, jsonDepthMax))
  return (_bytes, isEmpty) => {
    if (!isEmpty) throw new Problem('invalid_request', 'This route has no parameters; send no body, or {}.')
    return {}
  }
}

function idempotencyKeyOf(request: HttpRequest): string | null {
  const key = request.header('idempotency-key')
  if (key === undefined) return null
  if (!IDEMPOTENCY_KEY.test(key))
    throw new Problem('invalid_request', 'An Idempotency-Key is 8 to 128 visible ASCII characters.')
  return key
}
