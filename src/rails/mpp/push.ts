import type { Hash } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import { isProblem, Problem } from '../../base/problem.ts'
import { blockTime } from '../../chain/head.ts'
import { type Receipt, readReceipt } from '../../chain/receipt.ts'
import { AnswerTooLarge, type Rpc } from '../../chain/rpc.ts'
import { type MemoTransfer, memoTransfers } from '../../chain/tip20.ts'
import { transfersIn } from '../../chain/transfers.ts'
import { ANSWER_BYTES_MAX } from '../../chain/transport.ts'
import type { Terms } from '../../domain/rail.ts'
import {
  amountProblem,
  type ChargeTerms,
  hasExpired,
  isGenuine,
  isOtherBody,
  isOtherScope,
  REFUND_AT_LEAST,
  tillsOf,
} from './charge.ts'
import { isBoundTo } from './memo.ts'
import type { Seen } from './payment.ts'
import { OWN_KEY } from './pull.ts'
import { paidFor } from './settlement.ts'
import type { MppCredential } from './wire.ts'

export type PushOptions = {
  readonly terms: ChargeTerms
  /** Money that comes all the same is sent back. */
  readonly isOffered: boolean
  readonly challengeTtlMs: number
  readonly rpc: Rpc
  /** Will the chain never say anything else about a payment of this amount? */
  readonly isIrrevocable: (receipt: Receipt, amount: bigint) => Promise<boolean>
  readonly clock: Clock
  /** Was it a key that may only spend for the account? Null: the chain does not show that now. */
  readonly isByAccessKey: (transaction: Hash) => Promise<boolean | null>
}

type PushVerdict =
  | { readonly kind: 'pays'; readonly seen: Seen }
  | { readonly kind: 'unseen' }
  | { readonly kind: 'orphaned'; readonly detail: string }

/**
 * The money has moved already, if the payer speaks the truth, and only the chain knows. What it does not show is no payment yet and leaves
 * no trace here. What it shows is never answered with "pay again": it buys, or it goes back.
 */
export async function verifyPush(options: PushOptions, credential: MppCredential, terms: Terms): Promise<PushVerdict> {
  const receipt = await receiptOf(options, hashOf(credential))
  if (!receipt) return { kind: 'unseen' }
  const arrived = arrivedBy(options, receipt)
  if (arrived === 0n) {
    // A block that may yet be replaced proves nothing.
    if (!(await options.isIrrevocable(receipt, BigInt(credential.request.amount)))) return { kind: 'unseen' }
    throw new Problem(
      'payment_verification_failed',
      'That transaction pays nothing to this shop, so nothing was taken; pay the challenge in this answer.',
    )
  }
  const paid = isGenuine(options.terms, credential, 'then') ? paidFor(receipt, chargeOf(options, credential)) : null
  if (!paid) return orphaned(options, credential, receipt)
  if (paid.amount < BigInt(credential.request.amount) && arrived < REFUND_AT_LEAST)
    return {
      kind: 'orphaned',
      detail: 'That is less than was asked for, and too little to be sent back; it buys nothing.',
    }
  const isByAccessKey = terms.payerActs ? await options.isByAccessKey(receipt.transactionHash) : false
  if (isByAccessKey === null) return { kind: 'unseen' }
  if (isByAccessKey) return { kind: 'orphaned', detail: `${OWN_KEY} The money goes back.` }
  assertRightPlace(credential, terms)
  return { kind: 'pays', seen: await seenOf(options, credential, terms, { receipt, paid }) }
}

function hashOf({ proof }: MppCredential): Hash {
  if (proof.mode !== 'push') throw new TypeError('not a push credential')
  return proof.hash
}

/** A chain that does not answer has not shown it either. What is too large stays so, and is not waited for: anybody can name any transaction. */
async function receiptOf({ rpc }: PushOptions, hash: Hash): Promise<Receipt | null> {
  return readReceipt(rpc, hash, ANSWER_BYTES_MAX).catch((error: unknown) => {
    if (isProblem(error, 'chain_unavailable') && !(error instanceof AnswerTooLarge)) return null
    throw error
  })
}

/** How much a transaction moved to us. */
export function arrivedBy({ terms }: PushOptions, receipt: Receipt): bigint {
  if (!receipt.succeeded) return 0n
  return transfersIn(receipt, terms.currency, tillsOf(terms)).reduce((sum, { amount }) => sum + amount, 0n)
}

function chargeOf({ terms }: PushOptions, { challenge, request }: MppCredential) {
  const { currency } = terms
  const { recipient, amount } = request
  return { challengeId: challenge.id, realm: challenge.realm, currency, recipient, amount: BigInt(amount) }
}

/** Whoever sent another challenge's money here by mistake, or on purpose, hears that it goes back, and to whom it came from. */
function orphaned({ terms }: PushOptions, { challenge }: MppCredential, receipt: Receipt): PushVerdict {
  const memos = memoTransfers(receipt, terms.currency)
  if (memos.some(({ memo }) => isBoundTo(memo, challenge.realm, challenge.id)))
    return {
      kind: 'orphaned',
      detail: 'The money was moved by another account than the one it came from; it buys nothing and goes back there.',
    }
  return {
    kind: 'orphaned',
    detail: 'That transaction paid this shop, but not this challenge; it buys nothing and goes back to its payer.',
  }
}

function assertRightPlace(credential: MppCredential, terms: Terms): void {
  const moved = { status: 409, taken: true, action: 'fix_request' } as const
  if (isOtherScope(credential, terms))
    throw new Problem('payment_conflict', `This payment is for ${credential.binding.scope}; send it there.`, moved)
  if (isOtherBody(credential, terms))
    throw new Problem(
      'request_body_mismatch',
      'The body is not the one this payment was made for; send the original body with the same credential.',
      moved,
    )
}

async function seenOf(
  options: PushOptions,
  credential: MppCredential,
  terms: Terms,
  { receipt, paid }: { readonly receipt: Receipt; readonly paid: MemoTransfer },
): Promise<Seen> {
  const { clock, challengeTtlMs } = options
  return {
    payer: paid.from,
    amount: paid.amount,
    // Only for the case that the chain drops it again: then it has this long to come back.
    expiresAt: clock.now() + challengeTtlMs,
    stored: { raw: null, hash: receipt.transactionHash, memo: paid.memo, fromBlock: receipt.blockNumber.toString() },
    objection: (await objectionTo(options, credential, terms, { receipt, paid })) ?? undefined,
  }
}

/** What speaks against the purchase; the money goes back then. */
async function objectionTo(
  options: PushOptions,
  credential: MppCredential,
  terms: Terms,
  { receipt, paid }: { readonly receipt: Receipt; readonly paid: MemoTransfer },
): Promise<Problem | null> {
  if (!options.isOffered)
    return new Problem('payment_verification_failed', 'This shop takes only payments that it sends itself (pull).')
  const asked = BigInt(credential.request.amount)
  if (paid.amount !== asked)
    return new Problem('payment_amount_mismatch', `The challenge asked for ${asked} atomic units; ${paid.amount} came.`)
  if (await wasPaidLate(options, credential, receipt))
    return new Problem('payment_expired', 'It was paid after its challenge had ended.')
  return amountProblem(asked, terms)
}

/** A wallet's clock and the chain's differ a little. */
const LATE_MS_MAX = 60_000

/** Whoever shows it late may have paid in time; the block tells. */
async function wasPaidLate({ rpc, clock }: PushOptions, credential: MppCredential, receipt: Receipt): Promise<boolean> {
  if (!hasExpired(credential, clock.now())) return false
  return hasExpired(credential, (await blockTime(rpc, receipt.blockNumber)) - LATE_MS_MAX)
}
