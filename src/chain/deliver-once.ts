import type { Address, Hash } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { type Hex, toHex } from '../base/hex.ts'
import type { JsonObject } from '../base/json.ts'
import { keccak256 } from '../base/keccak.ts'
import type { ProblemCode } from '../base/problem.ts'
import type { Delivery } from '../domain/good.ts'
import type { Lease } from '../domain/lease.ts'
import {
  type Attempt,
  decisiveOf,
  followOn,
  hasSucceeded,
  mayLandByAnother,
  NO_TRIES,
  readSendTries,
  sendNext,
  type Tries,
} from './attempts.ts'
import { type CallTerms, Reverted } from './contract.ts'
import type { Receipt } from './receipt.ts'
import type { Sender } from './sender.ts'

/** A contract call that delivers one order. The contract takes it once per order id, whatever we send. */
export type ChainDelivery = {
  readonly orderId: string
  readonly step: string
  /** The right to work on the order: nothing is signed without it. */
  readonly lease: Lease
  /** Nothing was signed for it so far; where that is not known, the journal is asked. */
  readonly isUntried?: boolean | undefined
  readonly to: Address
  readonly data: Hex
  /** The most that this delivery may cost. Signed as the limit, and tried with it: what needs more is refused and never sent. */
  readonly gasMax: bigint
  /** Runs the call without a trace, on the terms it would be signed with. Throws Reverted when the contract refuses. */
  trial(terms: CallTerms): Promise<void>
  /** What the contract itself remembers of this order; null when it has not happened. */
  recall(): Promise<JsonObject | null>
  /** What a receipt shows of this order; null when it is not in there. */
  read(receipt: Receipt): JsonObject | null
  /**
   * Is the contract itself closed to us, now or as of a block: paused, or our role taken away? Then waiting helps. It is asked, because what
   * a call reverts with may be the words of whoever receives.
   */
  isClosed(block?: bigint): Promise<boolean>
  /** Whose doing a revert in this block of an open contract may have been: whoever received there, by address and by code. */
  suspects(block: bigint): Promise<readonly string[]>
  /** What a refusal of an open contract means to the buyer. */
  meaningOf(refusal: Reverted): { readonly code: ProblemCode; readonly detail: string }
  /** After this moment nothing new is sent, what is pending is cancelled, and the money goes back. */
  readonly deadline: number
  /** The first pause between two tries; each next one is twice as long. */
  readonly retryMs: number
}

/** A contract knows an order by 32 bytes. */
export function orderKey(orderId: string): Hash {
  return toHex(keccak256(Buffer.from(orderId)))
}

/** As many reverted transactions as one order may cost us, when none of them was its receiver's doing. */
const REVERTS_MAX = 5
const PENDING_MS = 500
const BURYING_MS = 2_000
const RETRY_MS_MAX = 30_000

/** Brings a delivery to the chain, from whatever point an earlier try was interrupted at. "Impossible" is said only on proof. */
export async function deliverOnce(sender: Sender, clock: Clock, delivery: ChainDelivery): Promise<Delivery> {
  const tries = delivery.isUntried ? NO_TRIES : await readSendTries(sender, delivery.orderId, delivery.step)
  const last = decisiveOf(tries)
  if (last?.state.state === 'pending')
    return clock.now() < delivery.deadline
      ? judged({ sender, clock, delivery, tries }, await followOn(sender, delivery, last))
      : giveUp({ sender, clock, delivery, tries })
  if (last && hasSucceeded(last)) return judged({ sender, clock, delivery, tries }, last)
  // Nothing of ours is in flight now. What the contract remembers counts more than any journal.
  const work = { sender, clock, delivery, tries }
  const remembered = last || tries.others.length > 0 ? await recalled(work) : null
  if (remembered) return remembered
  const reverted = revertOf(tries.attempts)
  return reverted ? afterRevert(work, reverted) : attempt(work)
}

type Work = {
  readonly sender: Sender
  readonly clock: Clock
  readonly delivery: ChainDelivery
  readonly tries: Tries
}

/** What the contract itself remembers of the order. Whichever key has brought it there, it is watched from now on. */
async function recalled({ sender, clock, delivery, tries }: Work): Promise<Delivery | null> {
  const result = await delivery.recall()
  if (!result) return null
  let isUnseen = false
  for (const send of tries.others) {
    const state = await sender.look(send)
    isUnseen ||= state.state === 'pending'
    if (state.state !== 'mined' || !state.receipt.succeeded) continue
    const landed = { ...sender.landed(send.step, state.receipt), signer: send.signer }
    return { state: 'delivered', result, transaction: landed.hash, landed }
  }
  // A receipt may be shown later than what it did. Without it nobody could watch the delivery.
  if (isUnseen && clock.now() < delivery.deadline)
    return { state: 'pending', detail: 'It is delivered; the receipt of that is awaited.', retryAfterMs: PENDING_MS }
  return { state: 'delivered', result }
}

/** The newest receipt that says no. */
function revertOf(attempts: readonly Attempt[]): Receipt | null {
  const mined = attempts.map(({ state }) => (state.state === 'mined' ? state.receipt : null))
  return mined.findLast((receipt) => receipt !== null) ?? null
}

/** Nothing stands against it that we know of: it is tried once more without a trace, and then for good. */
async function attempt(work: Work): Promise<Delivery> {
  const { sender, clock, delivery, tries } = work
  const refusal = await refusalOf(work)
  if (refusal) return refused(work, refusal)
  if (clock.now() >= delivery.deadline) return impossible(work, 'The delivery could not be sent in time.')
  const { to, data, gasMax: gas } = delivery
  const sent = await sendNext(sender, delivery, { to, data, gas }, tries)
  const known = { ...tries, attempts: [...tries.attempts, sent], deliveries: tries.deliveries + 1 }
  return judged({ ...work, tries: known }, sent)
}

/** What the contract would say on the very terms that are signed; null when it would go through. */
async function refusalOf({ sender, delivery }: Work): Promise<Reverted | null> {
  try {
    await delivery.trial(await sender.terms(delivery.gasMax))
    return null
  } catch (error) {
    if (error instanceof Reverted) return error
    throw error
  }
}

async function refused(work: Work, refusal: Reverted): Promise<Delivery> {
  const { clock, delivery, tries } = work
  const remembered = await recalled(work)
  if (remembered) return remembered
  if (!(await delivery.isClosed())) {
    // It may have been opened between the two questions.
    const still = await refusalOf(work)
    if (still) {
      const { code, detail } = delivery.meaningOf(still)
      return impossible(work, detail, code)
    }
  }
  if (clock.now() >= delivery.deadline)
    return impossible(work, `The contract still refuses the delivery: ${refusal.reason}.`)
  const detail = `The contract refuses for now: ${refusal.reason}.`
  return { state: 'pending', detail, retryAfterMs: pauseAfter(delivery, tries.attempts.length) }
}

/**
 * It was sent, and reverted, although the trial before it went well: whoever receives it may be playing with our gas. It is tried again
 * only when the contract itself was closed at that time, which its receiver can do nothing about.
 */
async function afterRevert(work: Work, reverted: Receipt): Promise<Delivery> {
  const { sender, tries } = work
  // As long as the chain may take the block back, the same transaction may still go through in another one.
  if (!(await sender.isBuried(reverted)))
    return { state: 'pending', detail: 'The delivery reverted; the chain has to settle.', retryAfterMs: BURYING_MS }
  const refusal = await refusalOf(work)
  if (refusal) return refused(work, refusal)
  const count = tries.attempts.filter(({ state }) => state.state === 'mined').length
  if (count < REVERTS_MAX && (await wasClosed(work, reverted))) return attempt(work)
  const remembered = await recalled(work)
  if (remembered) return remembered
  return impossible(work, 'The contract refused the delivery when it was sent.')
}

/** Nodes that have thrown the state of that block away cannot tell; then it was not. */
function wasClosed({ delivery }: Work, { blockNumber }: Receipt): Promise<boolean> {
  return wasClosedIn(delivery, blockNumber).catch(() => false)
}

/** When the block began, or when it ended: a contract may have been opened in the very block, behind the transaction that found it closed. */
async function wasClosedIn(delivery: ChainDelivery, block: bigint): Promise<boolean> {
  const ends = await Promise.all([block - 1n, block].map((at) => delivery.isClosed(at)))
  return ends.includes(true)
}

async function judged(work: Work, { state, step }: Attempt): Promise<Delivery> {
  const { sender, delivery } = work
  if (state.state === 'pending')
    return {
      state: 'pending',
      transaction: state.hash,
      detail: 'The delivery waits for the chain.',
      retryAfterMs: PENDING_MS,
    }
  if (state.state === 'mined' && state.receipt.succeeded) return delivered(sender, delivery, step, state.receipt)
  if (state.state === 'mined') return afterRevert(work, state.receipt)
  const retryAfterMs = pauseAfter(delivery, work.tries.attempts.length)
  return { state: 'pending', detail: 'The delivery did not go through; it is tried again.', retryAfterMs }
}

async function delivered(sender: Sender, delivery: ChainDelivery, step: string, receipt: Receipt): Promise<Delivery> {
  const { orderId } = delivery
  // A second call under the same order id succeeds and says nothing: the first one delivered, and the contract remembers it.
  const result = delivery.read(receipt) ?? (await delivery.recall())
  if (result === null) throw new Error(`${receipt.transactionHash} succeeded without delivering ${orderId}`)
  return {
    state: 'delivered',
    result,
    transaction: receipt.transactionHash,
    landed: sender.landed(step, receipt),
  }
}

/** The time is over. Before the money goes back, every transaction must be past landing: its nonce is used up by another one. */
async function giveUp(work: Work): Promise<Delivery> {
  const { sender, delivery } = work
  const attempts: Attempt[] = []
  for (const { number, step, state } of work.tries.attempts) {
    const isOpen = state.state === 'pending'
    attempts.push({ number, step, state: isOpen ? await sender.cancel({ ...delivery, step }) : state })
  }
  const tries = { ...work.tries, attempts }
  const decisive = decisiveOf(tries)
  if (decisive && hasSucceeded(decisive)) return judged(work, decisive)
  const reverted = revertOf(attempts)
  if (decisive?.state.state === 'pending' || (reverted && !(await sender.isBuried(reverted))))
    return { state: 'pending', detail: 'The delivery is being cancelled.', retryAfterMs: BURYING_MS }
  const remembered = await recalled(work)
  if (remembered) return remembered
  return impossible({ ...work, tries }, 'The delivery could not be brought to the chain in time.')
}

/** With what was on record when it was said, so that whoever writes it down can see that nothing was added since. */
async function impossible(
  { sender, delivery, tries }: Work,
  detail: string,
  code: ProblemCode = 'fulfilment_failed',
): Promise<Delivery> {
  if (await mayLandByAnother(sender, tries))
    return {
      state: 'pending',
      detail: 'Another key of ours has signed the delivery, and it may still land.',
      retryAfterMs: BURYING_MS,
    }
  const reverted = revertOf(tries.attempts)
  const suspects = reverted ? await suspectsOf(delivery, reverted) : []
  return { state: 'impossible', code, detail, proof: { sends: tries.deliveries }, suspects }
}

/**
 * As of that block: by now a key may delegate to nothing again, and a pause may be over. What no node can tell any more counts against nobody. Nodes that
 * have thrown that state away refuse, or say that it is empty, which nobody can read: whatever fails here, the money goes back.
 */
async function suspectsOf(delivery: ChainDelivery, { blockNumber }: Receipt): Promise<readonly string[]> {
  try {
    return (await wasClosedIn(delivery, blockNumber)) ? [] : await delivery.suspects(blockNumber)
  } catch {
    return []
  }
}

function pauseAfter({ retryMs }: ChainDelivery, tries: number): number {
  return Math.min(RETRY_MS_MAX, retryMs * 2 ** Math.min(tries, 10))
}
