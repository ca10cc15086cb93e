import type { Random } from '../../base/id.ts'
import { type JsonObject, parseStrictJson } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import type { Checkout } from '../../checkout/checkout.ts'
import type { PurchaseRequest } from '../../checkout/paid-call.ts'
import { purchase } from '../../checkout/purchase.ts'
import type { Limits } from '../../config/limits.ts'
import { IDEMPOTENCY_KEY } from '../../domain/fields.ts'
import type { Incoming, Resource } from '../../domain/rail.ts'
import type { PaidRoute } from '../../domain/route.ts'
import type { PaymentGate } from '../gate/payment-gate.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import { isEmptyBody, readBody } from '../http/body.ts'
import { parseWith } from '../http/parse.ts'
import type { Headers, Reply } from '../http/reply.ts'
import { assertAcceptsJson, flowIdOf, type HttpRequest } from '../http/request.ts'
import type { Replies } from './outcome-reply.ts'

export type PaidHandlerOptions = {
  readonly checkout: Checkout
  readonly replies: Replies
  readonly paymentGate: PaymentGate
  readonly limiter: RateLimiter
  readonly limits: Limits
  readonly random: Random
}

/** A paid row as an HTTP handler. The gate stands in here, never on a path pattern beside it. */
export type PaidHandler = {
  sell(request: HttpRequest, route: PaidRoute): Promise<Reply>
  /** What a GET on a buy path answers: the price, and never a purchase. */
  tellPrice(request: HttpRequest, route: PaidRoute): Promise<Reply>
}

const noMeta = () => undefined
const NOTHING_SENT: Incoming = { header: () => undefined, meta: noMeta }
const UNLIMITED: Headers = {}

export function createPaidHandler({
  checkout,
  replies,
  paymentGate,
  limiter,
  limits,
  random,
}: PaidHandlerOptions): PaidHandler {
  // One for each route, so that a rail may know it again and need not write the same terms twice.
  const resources = new WeakMap<PaidRoute, Resource>()

  function resourceAt(route: PaidRoute): Resource {
    let resource = resources.get(route)
    if (resource === undefined) {
      resource = resourceOf(route)
      resources.set(route, resource)
    }
    return resource
  }

  function callOf(
    request: HttpRequest,
    route: PaidRoute,
    incoming: Incoming,
    bytes: Uint8Array,
    flowId: string,
  ): PurchaseRequest<JsonObject> {
    const isEmpty = isEmptyBody(bytes)
    return {
      resource: resourceAt(route),
      incoming,
      body: isEmpty ? null : bytes,
      bodyIsBound: route.bodyIsBound,
      isProbe: isEmpty && route.body !== null,
      parse: () => parseBody(route, bytes, isEmpty, limits),
      flowId,
      idempotencyKey: idempotencyKeyOf(request),
    }
  }

  return {
    async sell(request, route) {
      assertAcceptsJson(request)
      const isPaid = paymentGate.isPaid(request)
      const flowId = flowIdOf(request, random)
      const incoming = isPaid ? { header: request.header, meta: noMeta } : NOTHING_SENT
      const extra = !isPaid && route.isRateLimited ? limiter.take('unpaid', request) : UNLIMITED
      // Before the paymentGate: whoever lets us wait for the body must not keep a place there.
      const bytes = await readBody(request, limits.bodyBytesMax)
      const buy = () => purchase(checkout, route.offer, callOf(request, route, incoming, bytes, flowId))
      const outcome = isPaid ? paymentGate.admit(request, { route, incoming }, buy) : buy()
      return replies.outcome(await outcome, flowId, extra)
    },

    async tellPrice(request, route) {
      assertAcceptsJson(request)
      const isPaid = paymentGate.isPaid(request)
      const extra = limiter.take('unpaid', request)
      if (isPaid)
        throw new Problem(
          'method_not_allowed',
          'A GET only tells the price; nothing was taken. Send the payment with POST.',
        )
      const flowId = flowIdOf(request, random)
      const outcome = await purchase(checkout, route.offer, {
        resource: resourceAt(route),
        incoming: NOTHING_SENT,
        body: null,
        bodyIsBound: route.bodyIsBound,
        isProbe: true,
        parse: () => ({}),
        flowId,
        idempotencyKey: null,
      })
      return replies.outcome(outcome, flowId, extra)
    },
  }
}

/** Public addresses come from configuration: a Host header must not decide what a payer signs. */
export function resourceOf(route: PaidRoute): Resource {
  return {
    url: route.offer.rail.baseUrl + route.path,
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

function idempotencyKeyOf(request: HttpRequest): string | null {
  const key = request.header('idempotency-key')
  if (key === undefined) return null
  if (!IDEMPOTENCY_KEY.test(key))
    throw new Problem('invalid_request', 'An Idempotency-Key is 8 to 128 visible ASCII characters.')
  return key
}
