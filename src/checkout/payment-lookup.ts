import type { Hash } from '../base/address.ts'
import { withinTime } from '../base/clock.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { RpcError } from '../chain/rpc.ts'
import type { Credential, Rail } from '../domain/rail.ts'
import type { Checkout } from './checkout.ts'
import { unsure } from './refusal.ts'

/** A payment, and the rail on which it is looked for. */
type Shown = {
  readonly checkout: Checkout
  readonly offer: { readonly rail: Rail }
  readonly credential: Credential
}

/**
 * The transaction of a payment that landed; null: it did not. A node may search for minutes, and the payer does not wait as long: then the answer
 * is that it is not known. So it is when nodes have thrown away the blocks in which it may be, or when none answers, because this is asked only
 * of payments that may have landed.
 */
export async function landedInTime({ checkout, offer, credential }: Shown): Promise<Hash | null> {
  const { clock, limits } = checkout
  const look = offer.rail.landed(credential).then((transaction) => ({ transaction }))
  const seen = await withinTime(clock, limits.lookMsMax, look).catch((error: unknown) => {
    if (!(error instanceof RpcError)) throw isProblem(error) ? unsure(error, false) : error
    throw new Problem(
      'payment_conflict',
      'The chain does not show any more whether this payment landed; make no other one before your wallet shows that it did not.',
      { taken: 'unknown', action: 'none', cause: error },
    )
  })
  if (seen) return seen.transaction
  throw new Problem(
    'payment_conflict',
    'The chain takes long to say whether this payment landed; send the same request again, and no other payment.',
    { taken: 'unknown', action: 'wait_same_credential' },
  )
}

/** Has the authorization expired, by the clock of the chain? While no node answers it counts as valid, and may land yet. */
export async function isSurelyOver(rail: Rail, credential: Credential): Promise<boolean> {
  try {
    return await rail.isOver(credential)
  } catch (error) {
    if (isProblem(error) || error instanceof RpcError) return false
    throw error
  }
}
