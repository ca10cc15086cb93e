import { isProblem, Problem } from '../../base/problem.ts'
import type { Outcome } from '../../checkout/answer.ts'
import type { Checkout } from '../../checkout/checkout.ts'
import { withoutClaim } from '../../checkout/paid-words.ts'
import { failedUnseen } from '../../checkout/refusal.ts'
import type { Limits } from '../../config/limits.ts'
import type { Credential, Incoming, RailHeaders } from '../../domain/rail.ts'
import type { PaidRoute } from '../../domain/route.ts'
import type { HttpRequest } from '../http/request.ts'
import { readBy } from './misplaced-payment.ts'
import { createPaymentFinder } from './payment-header.ts'
import type { RateLimiter } from './rate-limit.ts'

/** What every payment passes before it is looked at, whatever carried it here. */
export type PaymentGate = {
  /** Is this request meant to pay, whatever for? */
  isPaid(request: HttpRequest): boolean
  /** Runs a purchase that somebody sent a payment for, unless there is no room, or this caller has sent too many bad ones. */
  admit(request: HttpRequest, payment: Sent, buy: () => Promise<Outcome>): Promise<Outcome>
  /**
   * A refusal as its caller may hear it. Whoever was admitted hears what became of the payment. Of one that nobody has looked at nothing is claimed: its payer
   * may have sent the money, or it may have been taken before.
   */
  asHeard(request: HttpRequest, refusal: Problem): Problem
}

type Sent = { readonly route: Pick<PaidRoute, 'offer' | 'isRateLimited'>; readonly incoming: Incoming }

type PaymentGateOptions = {
  readonly checkout: Checkout
  /** Every protocol that there is, whether this shop takes it or not. */
  readonly rails: readonly { readonly headers: RailHeaders }[]
  readonly limiter: RateLimiter
  readonly limits: Pick<Limits, 'purchasesMax'>
}

export function createPaymentGate({ checkout, rails, limiter, limits }: PaymentGateOptions): PaymentGate {
  let underWay = 0

  /** Purchases wait for chains and game backends; whatever these do, there is room left for those who only read. */
  async function withRoom(buy: () => Promise<Outcome>): Promise<Outcome> {
    // Nothing was looked up, so nothing is claimed about the money: it may have been taken a moment ago, or sent by its payer.
    if (underWay >= limits.purchasesMax)
      throw new Problem('overloaded', 'Too many purchases are under way; send the same payment again, and no other.', {
        taken: 'unknown',
      })
    underWay++
    try {
      return await buy()
    } finally {
      underWay--
    }
  }

  /** A payment that we know already is always answered; a new one from a caller whose payments keep failing is not looked at. */
  async function assertWelcome(request: HttpRequest, credential: Credential | null): Promise<void> {
    if (!limiter.isDistrusted(request)) return
    if (credential === null || !(await mayBeKnown(credential))) limiter.refuse(request)
  }

  /** Whether a payment has an order. While the store does not say the purchase asks it once more, and has the words for that. */
  async function mayBeKnown({ identities }: Credential): Promise<boolean> {
    try {
      return (await checkout.orders.byIdentities(identities)) !== null
    } catch (error) {
      if (isProblem(error)) return true
      throw error
    }
  }

  async function admit(request: HttpRequest, payment: Sent, buy: () => Promise<Outcome>): Promise<Outcome> {
    if (!payment.route.isRateLimited) return withRoom(buy)
    // The purchase itself says what is wrong with what cannot be read.
    const credential = readBy(payment.route.offer.rail, payment.incoming)
    // Money may have been sent to a challenge of ours, so what the neighbours of its payer did is no reason not to look.
    const challenge = credential?.challengeOfOurs() ?? null
    const isVouched = challenge !== null && limiter.takeTry(challenge)
    if (!isVouched) await assertWelcome(request, credential)
    const distrust = () => {
      if (!isVouched) limiter.distrust(request)
    }
    const end = credential === null ? null : limiter.show(credential.identities[0]!, request)
    try {
      const outcome = await withRoom(buy)
      if (outcome.kind === 'challenged') distrust()
      return outcome
    } catch (error) {
      if (isProblem(error) && error.status < 500) distrust()
      throw error
    } finally {
      end?.()
    }
  }

  const isPaid = createPaymentFinder(rails)

  return {
    isPaid,
    admit: (request, payment, buy) =>
      admit(request, payment, buy).catch((error: unknown) => {
        throw isProblem(error) ? lookedAt(error) : failedUnseen(error)
      }),
    asHeard: (request, refusal) => (isUnsaid(refusal) && mayPay(request, isPaid) ? withoutClaim(refusal) : refusal),
  }
}

/** Does only its kind say that nothing was taken? */
function isUnsaid({ extra, kind }: Problem): boolean {
  return extra.taken === undefined && kind.taken === false
}

function lookedAt(refusal: Problem): Problem {
  const { code, message, extra } = refusal
  return isUnsaid(refusal) ? new Problem(code, message, { ...extra, taken: false }) : refusal
}

/** More payments than one are no payment, and any of them may have been made. */
function mayPay(request: HttpRequest, isPaid: PaymentGate['isPaid']): boolean {
  try {
    return isPaid(request)
  } catch (error) {
    if (isProblem(error, 'ambiguous_payment')) return true
    throw error
  }
}
