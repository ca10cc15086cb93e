import { isProblem, Problem } from '../base/problem.ts'
import type { Offer } from '../domain/offer.ts'
import type { Written } from './opening.ts'
import { withoutClaim } from './paid-words.ts'

/** Why no order was opened, as the payer reads it. */
export function refusalOfOpening(
  offer: Pick<Offer<never>, 'statusUrl'>,
  opened: Exclude<Written, { kind: 'opened' | 'unsure' | 'known' | 'same_key' }>,
): Problem {
  switch (opened.kind) {
    case 'spent':
      return quarantinedBefore()
    case 'refused':
      return new Problem(
        opened.code,
        'This payment was refused for this request before, and is not taken any more; pay the challenge in this answer.',
      )
    case 'in_doubt':
      return new Problem(
        'settlement_in_doubt',
        'An earlier payment of yours for this very request is not resolved yet, so this one was not taken.',
        { statusUrl: offer.statusUrl(opened.order.id), members: { orderId: opened.order.id } },
      )
    case 'held':
      return new Problem(opened.hold.refusal.code, opened.hold.refusal.detail)
    case 'blocked':
      return new Problem('payer_blocked', 'This payer is not served here; nothing was taken.')
    case 'paused':
      return new Problem('surface_closed', 'Sales were paused a moment ago; nothing was taken.')
    case 'throttled':
      return new Problem('payer_throttled', opened.detail, { afterSeconds: opened.afterSeconds })
    case 'uncovered':
      return new Problem(
        'shop_overcommitted',
        'More is open already than the shop could send back, so this payment was not taken; try again later.',
      )
    case 'moved':
      return new Problem(
        'store_unavailable',
        'The store has failed over or was restored this very moment; send the same payment again shortly.',
        { taken: 'unknown' },
      )
    case 'means_needed':
      throw new TypeError('the means of the payer were asked for twice')
  }
}

/** For a payment that went back without an order, or is to stay: its payer must not be asked to pay again. */
export function quarantinedBefore(): Problem {
  return new Problem(
    'payment_conflict',
    'This payment came without a purchase and was set aside; it buys nothing any more, and /payments tells what becomes of it.',
    { action: 'none' },
  )
}

/** For captured money that cannot be found or looked at now. */
export function cannotLookNow(cause?: unknown): Problem {
  return new Problem('payment_pending', 'The shop cannot look at this payment now; send the same request again.', {
    action: 'wait_same_credential',
    cause,
  })
}

/** While the store is not the one that the shop sells from: it may lack the purchase that this payment has bought. */
export function storeIsAnother(cause: unknown): Problem {
  return new Problem(
    'store_unavailable',
    'The store of this shop has failed over or was restored; send the same payment again later, and no other.',
    { taken: 'unknown', cause },
  )
}

/** For an authorization that a purchase which the restored store lacks may have sent. */
export function mayStillLand(): Problem {
  return new Problem(
    'payment_conflict',
    "This shop's database was restored after the challenge was issued, and the payment may still settle. Request a new challenge once this authorization has expired unused.",
    { taken: 'unknown', action: 'none' },
  )
}

/** The same when it has expired, and no node shows it. */
export function ranOut(): Problem {
  return new Problem('payment_expired', 'This payment has run out and paid nothing; pay the challenge in this answer.')
}

/** For an unexpected error, after which it is not known how far the purchase came; for HTTP and MCP alike. */
export function failedUnseen(cause: unknown): Problem {
  return new Problem('internal_error', 'The shop failed; send the same payment again.', { taken: 'unknown', cause })
}

/** The error without "nothing was taken", for money that may have moved. A failure of the shop may be gone in a moment, so its payer is told to wait. */
export function unsure(error: unknown, isCaptured: boolean): unknown {
  if (isCaptured && (!isProblem(error) || error.status >= 500)) return cannotLookNow(error)
  if (!isProblem(error)) return failedUnseen(error)
  const { extra, kind, status } = error
  // A 402 was made after a look at the chain, and says what that showed.
  if (status === 402 || (extra.taken ?? kind.taken) !== false) return error
  return withoutClaim(error)
}
