import type { Hash } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import { Problem } from '../../base/problem.ts'
import type { HeadSource } from '../../chain/head.ts'
import type { Terms } from '../../domain/rail.ts'
import { newPaymentStart } from '../confirmations.ts'
import { amountProblem, type ChargeTerms, hasExpired, isGenuine, isOtherBody, isOtherScope } from './charge.ts'
import type { Seen } from './payment.ts'
import type { TransactionVerifier, VerifiedTransaction } from './verifier.ts'
import type { MppCredential } from './wire.ts'

export type PullOptions = {
  readonly terms: ChargeTerms
  readonly isOffered: boolean
  /** Resolves once mppx is loaded. */
  readonly verifier: () => Promise<TransactionVerifier>
  readonly head: HeadSource
  readonly clock: Clock
}

/** Too late to reach the chain: sending it would only leave everybody in doubt. */
const MS_TO_LAND = 2_000
/** A client may round up, and its clock may be ahead of ours. */
export const LATE_MS_MAX = 60_000

/** Told to whoever pays with an access key for what acts in the account's name. */
export const OWN_KEY = "An access key may pay from an account and may not act for it; sign with the account's own key."

/** The payer signed and we send: until then every refusal is free. */
export async function verifyPull(options: PullOptions, credential: MppCredential, terms: Terms): Promise<Seen> {
  const { verifier, head, clock } = options
  assertPayable(options, credential, terms)
  const { sender, isAccessKey, raw, hash, memo, ...transaction } = await (await verifier()).verify(credential)
  if (terms.payerActs && isAccessKey) throw new Problem('payment_verification_failed', OWN_KEY)
  const newest = await head.latest()
  const expiresAt = assertCanLand(credential, transaction, newest, clock.now())
  const fromBlock = newPaymentStart(newest.number).toString()
  const stored = { raw, hash: hash.toLowerCase() as Hash, memo, fromBlock }
  return { payer: sender, amount: terms.price, expiresAt, stored }
}

/** Everything that can be said without a look at the transaction. */
function assertPayable({ terms: ours, isOffered, clock }: PullOptions, credential: MppCredential, terms: Terms): void {
  if (!isGenuine(ours, credential, 'now'))
    throw new Problem(
      'invalid_challenge',
      'The challenge was not issued here, was changed, or is of another shop or chain; pay the one in this answer.',
    )
  if (!isOffered)
    throw new Problem('payment_verification_failed', 'This shop takes only payments that the payer sends (push).')
  if (isOtherScope(credential, terms))
    throw new Problem('invalid_challenge', 'The challenge is for another route; pay the one in this answer.')
  const wrongAmount = amountProblem(BigInt(credential.request.amount), terms)
  if (wrongAmount) throw wrongAmount
  if (hasExpired(credential, clock.now()))
    throw new Problem('payment_expired', 'The challenge has expired; pay the one in this answer.')
  if (isOtherBody(credential, terms))
    throw new Problem(
      'request_body_mismatch',
      'The body is not the one this challenge was issued for; pay the one in this answer.',
    )
}

/** What cannot land now would only set goods aside. Returns when it can no longer land. */
function assertCanLand(
  { challenge }: MppCredential,
  transaction: Pick<VerifiedTransaction, 'validBefore' | 'validAfter' | 'maxFeePerGas' | 'nonceGap'>,
  { baseFee }: { readonly baseFee: bigint },
  now: number,
): number {
  const { validBefore, validAfter, maxFeePerGas, nonceGap } = transaction
  // Without an end of its own it could land long after we gave up on it, and be paid twice.
  if (validBefore === null || validBefore > Date.parse(challenge.expires) + LATE_MS_MAX)
    throw unfit('it must end with its challenge; set validBefore to `expires`')
  if (validBefore <= now + MS_TO_LAND)
    throw new Problem(
      'payment_expired',
      'The signed transaction has run out, or is about to; pay the challenge in this answer.',
    )
  if (validAfter !== null && validAfter > now) throw unfit('it is not valid yet; leave validAfter out')
  if (maxFeePerGas < baseFee) throw unfit(`its maxFeePerGas is below the chain's base fee of ${baseFee}`)
  if (nonceGap !== 0n) throw unfit(`its nonce is ${nonceGap} off the next one of this account; sign it again`)
  return validBefore
}

function unfit(why: string): Problem {
  return new Problem('payment_verification_failed', `The signed transaction cannot land now: ${why}.`)
}
