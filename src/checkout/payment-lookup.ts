import type { Hash } from '../base/address.ts'
import { withinTime } from '../base/clock.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { RpcError } from '../chain/rpc.ts'
import { type Credential, type Rail, SpoiltPayment } from '../domain/rail.ts'
import type { Checkout } from './checkout.ts'
import { returnPayment } from './payment-return.ts'
import { cannotLookNow, mayStillLand, unsure } from './refusal.ts'

/** A payment, and the rail on which it is looked for. */
type Shown = {
  readonly checkout: Checkout
  readonly offer: { readonly rail: Rail }
  readonly credential: Credential
}

/** A payment that is shown where it buys nothing, as far as a rail of this shop can read it. */
export type ShownPayment = { readonly rail: Rail; readonly credential: Credential } | SpoiltPayment

/**
 * Asked before a payer is told to pay again, after the store was asked: why that would be wrong. Null: the payment has not landed, and never
 * will here. What has landed goes back.
 */
export async function lastLook(shown: Shown): Promise<Problem | null> {
  const { checkout, offer, credential } = shown
  const isCaptured = credential.funds === 'captured'
  const isOld = isOlderThanRestore(checkout.store, credential)
  // Before the look: a payment that landed before it expired is then seen by it.
  const isOver = isOld && !isCaptured && (await isSurelyOver(offer.rail, credential))
  const transaction = await landedInTime(shown)
  if (transaction) {
    const detail = 'This payment is on the chain already and has bought nothing; it goes back to its payer.'
    return returnPayment(shown, { transaction, detail })
  }
  if (!isOld || isOver) return null
  return isCaptured ? cannotLookNow() : mayStillLand()
}

/** The same question for a payment that is shown where it buys nothing, before it was looked up. */
export async function mayHaveMoved(checkout: Checkout, shown: ShownPayment): Promise<boolean> {
  try {
    if (shown instanceof SpoiltPayment) return await mayHaveBought(checkout, shown)
    const { rail, credential } = shown
    if (credential.funds === 'captured' || (await isKnownByName(checkout, credential))) return true
    return (await lastLook({ checkout, offer: { rail }, credential })) !== null
  } catch (error) {
    if (isProblem(error)) return true
    throw error
  }
}

/** No authorization lands longer than this after the shop asked for it, by any clock. */
const AUTHORIZATION_MS_MAX = 3_600_000

/** The time at which it was asked for may be in the part that is missing. So soon after a restore, it may be what a forgotten purchase has sent. */
async function mayHaveBought({ orders, clock, store }: Checkout, { handles }: SpoiltPayment): Promise<boolean> {
  return (await orders.isAnyHandleKnown(handles)) || store.restoredAt() > clock.now() - AUTHORIZATION_MS_MAX
}

/** Has anything come by its own part of the name, on whichever network and in whichever token that was? */
export function isKnownByName({ orders }: Checkout, { identities }: Credential): Promise<boolean> {
  return orders.isAnyHandleKnown(identities.map(handleOf))
}

/** The part of a name that its payer knows: the authorization's nonce, the challenge's id, or the transaction. */
export function handleOf(identity: string): string {
  return identity.split('/').at(-1)!
}

/** For an address that tells of it: no more than the caller has shown. */
export function nameIn(shown: ShownPayment): string {
  const name = shown instanceof SpoiltPayment ? shown.handles[0]! : handleOf(shown.credential.identities[0]!)
  return encodeURIComponent(name)
}

/** The same where it may have bought nothing: money that has moved is known by its name on the chain, with a purchase and without one. */
export function nameOnChain(shown: ShownPayment): string {
  if (shown instanceof SpoiltPayment || shown.credential.funds !== 'captured') return nameIn(shown)
  return encodeURIComponent(handleOf(shown.credential.identities.at(-1)!))
}

/** Was it asked for before the store was restored? Then it may have bought something that the store lacks. */
export function isOlderThanRestore(store: Checkout['store'], { askedAt }: Credential): boolean {
  return store.restoredAt() > askedAt
}

/**
 * The transaction of a payment that landed; null: it did not. A node may search for minutes, and the payer does not wait as long: then the answer
 * is that it is not known. So it is when nodes have thrown away the blocks in which it may be, or when none answers, because this is asked only
 * of payments that may have landed.
 */
async function landedInTime({ checkout, offer, credential }: Shown): Promise<Hash | null> {
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
async function isSurelyOver(rail: Rail, credential: Credential): Promise<boolean> {
  try {
    return await rail.isOver(credential)
  } catch (error) {
    if (isProblem(error) || error instanceof RpcError) return false
    throw error
  }
}
