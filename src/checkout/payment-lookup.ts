import type { Hash } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { RpcError } from '../chain/rpc.ts'
import type { Credential, NodeQuorum, Rail } from '../domain/rail.ts'
import type { Checkout } from './checkout.ts'
import { unsure } from './refusal.ts'

/** A payment, and where it is to be looked for. */
type Shown = {
  readonly checkout: Checkout
  readonly offer: { readonly rail: Rail }
  readonly credential: Credential
}

/** What comes in time; else null, and whoever is at work goes on. */
export async function withinTime<Result>(clock: Clock, ms: number, work: Promise<Result>): Promise<Result | null> {
  const timer = new AbortController()
  const timeUp = clock.sleep(ms, timer.signal).then(() => null)
  try {
    return await Promise.race([work, timeUp])
  } finally {
    timer.abort()
  }
}

/**
 * Where a payment is on the chain, if it is. A node may search for minutes; its payer does not wait as long, and hears that nobody knows. So
 * they do when nodes have thrown away the blocks in which it may be, and when none answers: it is looked for only where it may have landed.
 */
export async function landedInTime({ checkout, offer, credential }: Shown, quorum: NodeQuorum): Promise<Hash | null> {
  const { clock, limits } = checkout
  const look = offer.rail.landed(credential, quorum).then((transaction) => ({ transaction }))
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

/** Is the time of a promise over, by the chain? While nobody tells, it is not, and it may land yet. */
export async function isSurelyOver(rail: Rail, credential: Credential): Promise<boolean> {
  try {
    return await rail.isOver(credential)
  } catch (error) {
    if (isProblem(error)) return false
    throw error
  }
}
