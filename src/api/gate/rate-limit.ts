import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { Problem } from '../../base/problem.ts'
import type { Limits } from '../../config/limits.ts'
import { createClientFinder } from '../http/client-address.ts'
import type { Headers } from '../http/reply.ts'
import type { HttpRequest } from '../http/request.ts'
import { createRateCounter, type RateCounter, type RateGrant } from './rate-counter.ts'
import { createSharing, type SharedCounts } from './rate-sharing.ts'

type Bucket = 'unpaid' | 'quote' | 'read'

/** Who calls how often (D9.2). Counted in memory; nothing here waits. */
export type RateLimiter = {
  /** Counts a call, and returns the headers that tell what is left. Throws 429 when the allowance is used up. */
  take(bucket: Bucket, request: HttpRequest): Headers
  /** Whom an allowance belongs to. */
  clientOf(request: HttpRequest): string
  /**
   * Takes one of the tries that a challenge of ours has, whatever others at its payer's address did. A caller must have asked for it, so tries are
   * bounded by unpaid calls.
   */
  takeTry(challenge: string): boolean
  /** Has this caller sent too many payments that were no good? */
  isDistrusted(request: HttpRequest): boolean
  /** Counts a payment that was not taken. */
  distrust(request: HttpRequest): void
  /** Throws 429 on behalf of a distrusted caller. That the payment has no order does not say that its money has not moved: nobody asks the chain. */
  refuse(request: HttpRequest): never
  /**
   * Counts one more showing of a payment, until the returned function is called. Showings at the same moment count as one: they wait for
   * the same end. Counted for each caller apart, because what names a payment is public and others must not use up its payer's tries.
   */
  show(payment: string, request: HttpRequest): () => void
  stop(): Promise<void>
}

type RateLimiterOptions = {
  readonly limits: Pick<Limits, 'rate' | 'replaysPerPayment'>
  readonly proxyHops: number
  /** Null where there is only one process to count. */
  readonly shared: SharedCounts | null
  readonly clock: Clock
  readonly log: Log
  /** Hears of each call that was turned away, and by which allowance. */
  readonly onLimited?: ((allowance: string) => void) | undefined
}

export const RATE_WINDOW_SECONDS = 60
/** About 20 MB when all of it is used. */
const CALLERS_MAX = 100_000

/** A payer pays a challenge once, and may have to repeat that. Counted by each replica for itself: to share it would cost each purchase a write. */
const TRIES_PER_CHALLENGE = 5

type Limit = { readonly counter: RateCounter; readonly policy: string; readonly name: string }

export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { limits, proxyHops, shared, clock, log, onLimited = () => {} } = options
  const clientOf = createClientFinder(proxyHops)
  const { rate, replaysPerPayment } = limits
  const sharing = shared ? createSharing(() => all.map(({ counter }) => counter), shared, { clock, log }) : null

  function limit(name: string, quota: number): Limit {
    const counter = createRateCounter({
      allowance: { name, quota, windowMs: RATE_WINDOW_SECONDS * 1000 },
      callersMax: CALLERS_MAX,
      clock,
      ...(sharing ? { onHot: sharing.wake } : {}),
    })
    return { name, counter, policy: `"${name}";q=${quota};w=${RATE_WINDOW_SECONDS}` }
  }

  const buckets: Readonly<Record<Bucket, Limit>> = {
    unpaid: limit('unpaid', rate.unpaid),
    quote: limit('quote', rate.quote),
    read: limit('read', rate.read),
  }
  const failures = limit('failed', rate.failed)
  const tries = createRateCounter({
    allowance: { name: 'challenge', quota: TRIES_PER_CHALLENGE, windowMs: RATE_WINDOW_SECONDS * 1000 },
    callersMax: CALLERS_MAX,
    clock,
  })
  // The first showing is no retry.
  const payments = limit('payment', replaysPerPayment + 1)
  const all = [...Object.values(buckets), failures, payments]
  const showing = new Map<string, number>()

  return {
    take(bucket, request) {
      const grant = buckets[bucket].counter.take(clientOf(request))
      if (grant.isGranted) return headersOf(buckets[bucket], grant)
      onLimited(bucket)
      throw limited(buckets[bucket], grant, `Too many calls from your address; wait ${grant.resetSeconds} s.`)
    },
    clientOf,
    takeTry: (challenge) => tries.take(challenge).isGranted,
    isDistrusted: (request) => !failures.counter.peek(clientOf(request)).isGranted,
    distrust(request) {
      failures.counter.take(clientOf(request))
    },
    refuse(request) {
      const grant = failures.counter.peek(clientOf(request))
      onLimited(failures.name)
      throw limited(
        failures,
        grant,
        `Too many payments from your address were no good; this one was not looked at. Wait ${grant.resetSeconds} s.`,
        { taken: 'unknown' },
      )
    },
    show(payment, request) {
      const name = `${payment} ${clientOf(request)}`
      const atOnce = showing.get(name) ?? 0
      if (atOnce === 0) {
        const grant = payments.counter.take(name)
        if (!grant.isGranted) {
          onLimited(payments.name)
          throw shownTooOften(payments, grant)
        }
      }
      showing.set(name, atOnce + 1)
      return () => {
        const left = (showing.get(name) ?? 1) - 1
        if (left === 0) showing.delete(name)
        else showing.set(name, left)
      }
    },
    async stop() {
      await sharing?.stop()
    },
  }
}

/** draft-ietf-httpapi-ratelimit-headers-11: what the allowance is, what is left of it, and in how many seconds it is whole again. */
function headersOf({ name, policy }: Limit, { left, resetSeconds }: RateGrant): Headers {
  return { 'RateLimit-Policy': policy, RateLimit: `"${name}";r=${left};t=${resetSeconds}` }
}

function limited(limit: Limit, grant: RateGrant, detail: string, claim: { taken?: 'unknown' } = {}): Problem {
  const headers = headersOf(limit, grant)
  return new Problem('rate_limited', detail, { ...claim, afterSeconds: grant.resetSeconds, headers })
}

/** Nothing was looked up, so nothing is claimed about the money. */
function shownTooOften(limit: Limit, grant: RateGrant): Problem {
  return new Problem(
    'rate_limited',
    'This payment was sent too often. Nothing is lost: read GET /payments/{reference}, or send it again later; do not pay again.',
    {
      taken: 'unknown',
      action: 'wait_same_credential',
      afterSeconds: grant.resetSeconds,
      headers: headersOf(limit, grant),
    },
  )
}
