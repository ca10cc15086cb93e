import { isProblem, MAY_HAVE_MOVED, Problem } from '../base/problem.ts'
import { withoutClaim } from './paid-words.ts'

/** A refusal of a payment whose money may have moved all the same. */
export function movedPerhaps({ code, message, extra }: Problem, statusUrl: string): Problem {
  return new Problem(code, `${message} It may have bought already; send it as and where it was made for.`, {
    ...extra,
    ...MAY_HAVE_MOVED,
    statusUrl,
  })
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
