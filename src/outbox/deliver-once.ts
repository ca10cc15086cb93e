import type { Address, Hash } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { type Hex, toHex } from '../base/hex.ts'
import type { JsonObject } from '../base/json.ts'
import { keccak256 } from '../base/keccak.ts'
import type { ProblemCode } from '../base/problem.ts'
import { type CallTerms, Reverted } from '../chain/contract.ts'
import type { Receipt } from '../chain/receipt.ts'
import type { Delivery } from '../domain/good.ts'
import { isDeliveryStep, type LandedStep, type Send } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import type { Sender, Sent } from './sender.ts'
import { hasSucceeded } from './state.ts'

/** A contract call that delivers one order. The contract takes it once per order id, whatever we send. */
type ChainDelivery = {
  readonly orderId: string
  readonly step: string
  /** The right to work on the order: nothing is signed without it. */
  readonly lease: Lease
  /** Nothing was signed for it so far; where that is not known, the journal is asked. */
  readonly isUntried?: boolean | undefined
  readonly to: Address
  readonly data: Hex
  /** The call by which the contract gives the order up: from then on it refuses the other one. */
  readonly closing: Hex
  /** The most that this delivery may cost. Signed as the limit, and tried with it: what needs more is refused and never sent. */
  readonly gasMax: bigint
  /** Runs the call without a trace, on the terms it would be signed with. Throws Reverted when the contract refuses. */
  trial(terms: CallTerms): Promise<void>
  /** What the contract itself remembers of this order; null when it has not happened. */
  recall(): Promise<JsonObject | null>
  /** Has the contract given the order up? Once it has, it never delivers; a node that is behind can only say "not yet". */
  hasGivenUp(): Promise<boolean>
  /** What a receipt shows of this order; null when it is not in there. */
  read(receipt: Receipt): JsonObject | null
  /**
   * Is the contract itself closed to us, now or as of a block: paused, or our role taken away? Then waiting helps. It is asked, because what
   * a call reverts with may be the words of whoever receives.
   */
  isClosed(block?: bigint): Promise<boolean>
  /** Could code or tokens of the buyer's side have made the call revert in this block? A plain key refuses nothing. */
  mayBeBuyers(block: bigint): Promise<boolean>
  /** What a refusal of an open contract means to the buyer. */
  meaningOf(refusal: Reverted): { readonly code: ProblemCode; readonly detail: string }
  /** After this moment nothing new is sent, the contract gives the order up, and the money goes back. */
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
/** Measured: 51,000. */
const CLOSING_GAS = 100_000n
const CLOSE = 'close'
const LATE = 'The delivery could not be brought to the chain in time.'

type Work = {
  readonly sender: Sender
  readonly delivery: ChainDelivery
  readonly isLate: boolean
  /** By every key that was ever ours, oldest first. */
  readonly tries: readonly Sent[]
  /** How many transactions of the order were on record, beside settlement, refund and closing. */
  readonly deliveries: number
}

/** Brings a delivery to the chain, from whatever point an earlier try was interrupted at. "Impossible" is said when nothing can land any more. */
export async function deliverOnce(sender: Sender, clock: Clock, delivery: ChainDelivery): Promise<Delivery> {
  const sends = delivery.isUntried ? [] : await sender.sendsOf(delivery.orderId)
  const tries = await triesOf(sender, delivery, sends)
  const deliveries = sends.filter(({ step }) => isDeliveryStep(step)).length
  const work: Work = { sender, delivery, isLate: clock.now() >= delivery.deadline, tries, deliveries }
  const done = tries.find(({ state }) => hasSucceeded(state))
  if (done) return judged(work, done)
  const pending = tries.find(({ state }) => state.state === 'pending')
  if (sends.some(({ call }) => call.data === delivery.closing) || (pending && work.isLate)) return giveUp(work, LATE)
  if (pending) {
    const state = await sender.push(delivery.lease, pending.send)
    return state.state === 'superseded' ? attempt(work) : judged(work, { ...pending, state })
  }
  // Nothing of ours is in flight now. What the contract remembers counts more than any journal.
  const remembered = tries.length > 0 ? await recalled(work) : null
  if (remembered) return remembered
  const reverted = revertOf(work)
  return reverted ? afterRevert(work, reverted) : attempt(work)
}

async function triesOf(sender: Sender, { step }: ChainDelivery, sends: readonly Send[]): Promise<readonly Sent[]> {
  const own = sends.filter((send) => send.step === step && send.chainId === sender.chainId)
  const tries: Sent[] = []
  for (const send of own) tries.push({ send, state: await sender.look(send) })
  return tries
}

/** Tried once more without a trace, and then for good. */
async function attempt(work: Work): Promise<Delivery> {
  const { sender, delivery, tries } = work
  const refusal = await refusalOf(work)
  if (refusal) return refused(work, refusal)
  if (work.isLate) return impossible(work, 'The delivery could not be sent in time.')
  const { to, data, gasMax: gas } = delivery
  const own = tries.map(({ send }) => send).filter(sender.isOwn)
  const sent = await sender.send(delivery, { to, data, gas }, own)
  return judged({ ...work, tries: [...tries, sent], deliveries: work.deliveries + 1 }, sent)
}

/** What became of a transaction that was sent or pushed just now. */
async function judged(work: Work, { send, state }: Sent): Promise<Delivery> {
  const { sender, delivery } = work
  if (state.state === 'pending')
    return pending('The delivery waits for the chain.', PENDING_MS, { transaction: state.hash })
  if (state.state === 'superseded')
    return pending('The delivery did not go through; it is tried again.', pauseAfter(work))
  const { receipt } = state
  if (!receipt.succeeded) return afterRevert(work, receipt)
  // A second call under the same order id succeeds and says nothing: the first one delivered, and the contract remembers it.
  const result = delivery.read(receipt) ?? (await delivery.recall())
  if (result !== null) return delivered(result, sender.landed(send, receipt))
  if (send.call.data === delivery.closing) return givenUp(work, receipt, LATE)
  throw new Error(`${receipt.transactionHash} succeeded without delivering ${delivery.orderId}`)
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
  const { delivery } = work
  const remembered = await recalled(work)
  if (remembered) return remembered
  if (!(await delivery.isClosed())) {
    // It may have been closed when it refused, and opened between the two questions.
    const still = await refusalOf(work)
    if (!still) return pending('The contract refused and takes it now; it is tried again.', pauseAfter(work))
    const { code, detail } = delivery.meaningOf(still)
    return impossible(work, detail, code)
  }
  return work.isLate
    ? impossible(work, `The contract still refuses the delivery: ${refusal.reason}.`)
    : pending(`The contract refuses for now: ${refusal.reason}.`, pauseAfter(work))
}

/**
 * It was sent, and reverted, although the trial before it went well: whoever receives it may be playing with our gas. It is tried again
 * only when the contract itself was closed at that time, which its receiver can do nothing about.
 */
async function afterRevert(work: Work, reverted: Receipt): Promise<Delivery> {
  const { sender, delivery, tries } = work
  // As long as the chain may take the block back, the same transaction may still go through in another one.
  if (!(await sender.isBuried(reverted))) return pending('The delivery reverted; the chain has to settle.', BURYING_MS)
  const refusal = await refusalOf(work)
  if (refusal) return refused(work, refusal)
  const count = tries.filter(({ state }) => state.state === 'mined').length
  // Nodes that have thrown the state of that block away cannot tell; then it was not.
  const wasClosed = await delivery.isClosed(reverted.blockNumber).catch(() => false)
  if (count < REVERTS_MAX && wasClosed) return attempt(work)
  return (await recalled(work)) ?? impossible(work, 'The contract refused the delivery when it was sent.')
}

/** The newest receipt that says no. */
function revertOf({ tries }: Work): Receipt | null {
  const mined = tries.map(({ state }) => (state.state === 'mined' ? state.receipt : null))
  return mined.findLast((receipt) => receipt !== null) ?? null
}

/** What the contract itself remembers of the order. Whichever key has brought it there, it is watched from now on. */
async function recalled({ sender, delivery, tries, isLate }: Work): Promise<Delivery | null> {
  const result = await delivery.recall()
  if (!result) return null
  for (const { send } of tries) {
    const state = await sender.look(send)
    if (hasSucceeded(state)) return delivered(result, sender.landed(send, state.receipt))
  }
  // A receipt may be shown later than what it did. Without it the delivery could not be watched.
  if (tries.some(({ state }) => state.state !== 'mined') && !isLate)
    return pending('It is delivered; the receipt of that is awaited.', PENDING_MS)
  return { state: 'delivered', result }
}

/** With what was on record when it was said, so that it can be seen whether nothing was added since. */
async function impossible(work: Work, detail: string, code: ProblemCode = 'fulfilment_failed'): Promise<Delivery> {
  if (await mayStillLand(work)) return giveUp(work, detail)
  const reverted = revertOf(work)
  const isBuyers = reverted !== null && (await work.delivery.mayBeBuyers(reverted.blockNumber).catch(() => false))
  const byBuyer = isBuyers ? ({ byBuyer: true } as const) : {}
  return { state: 'impossible', code, detail, ...byBuyer, proof: { sends: work.deliveries } }
}

/** Has anything been signed for it, by any key of ours, that is not in a block for good? */
async function mayStillLand({ sender, tries }: Pick<Work, 'sender' | 'tries'>): Promise<boolean> {
  for (const { state } of tries)
    if (state.state !== 'mined' || state.receipt.succeeded || !(await sender.isBuried(state.receipt))) return true
  return false
}

/**
 * Bytes that are out there may land at any time, so the contract itself gives the order up: under the nonce of what hangs, or under one of its
 * own. Then it says so for ever, or that it was delivered after all.
 */
async function giveUp(work: Work, detail: string): Promise<Delivery> {
  const { sender, delivery, tries } = work
  const { lease, to, closing: data } = delivery
  const call = { to, data, gas: CLOSING_GAS }
  const hanging = tries.find(({ send, state }) => state.state === 'pending' && sender.isOwn(send))?.send
  if (!hanging)
    return closed(
      work,
      (await sender.send({ ...delivery, step: CLOSE }, call, await failedClosings(work))).state,
      detail,
    )
  const isClosing = hanging.call.data === data
  return closed(work, await (isClosing ? sender.push(lease, hanging) : sender.replace(lease, hanging, call)), detail)
}

/** One that was refused does not stand in the way of the next: the key may have its role back. */
async function failedClosings({ sender, delivery }: Work): Promise<readonly Send[]> {
  const failed: Send[] = []
  for (const send of await sender.sendsOf(delivery.orderId)) {
    if (send.step !== CLOSE || !sender.isOwn(send)) continue
    const state = await sender.look(send)
    if (state.state === 'mined' && !state.receipt.succeeded && (await sender.isBuried(state.receipt))) failed.push(send)
  }
  return failed
}

const GIVING_UP = 'The delivery is being given up.'

function closed(work: Work, state: Sent['state'], detail: string): Delivery | Promise<Delivery> {
  return state.state === 'mined' ? givenUp(work, state.receipt, detail) : pending(GIVING_UP, BURYING_MS)
}

async function givenUp(work: Work, closing: Receipt, detail: string): Promise<Delivery> {
  const { sender, delivery, deliveries } = work
  if (!(await sender.isBuried(closing))) return pending(GIVING_UP, BURYING_MS)
  const remembered = await recalled(work)
  if (remembered) return remembered
  // That nothing is remembered is no proof: whoever is asked may be behind, and the receipt may be that of the delivery itself.
  if (closing.succeeded && !(await delivery.hasGivenUp())) return pending(GIVING_UP, BURYING_MS)
  const tries = await triesOf(sender, delivery, await sender.sendsOf(delivery.orderId))
  if (!closing.succeeded && (await mayStillLand({ sender, tries })))
    return pending('The contract does not give the order up. Has the key still its role?', BURYING_MS)
  return { state: 'impossible', code: 'fulfilment_failed', detail, proof: { sends: deliveries } }
}

function delivered(result: JsonObject, landed: LandedStep): Delivery {
  return { state: 'delivered', result, transaction: landed.hash, landed }
}

function pending(detail: string, retryAfterMs: number, sent: { readonly transaction?: Hash } = {}): Delivery {
  return { state: 'pending', detail, retryAfterMs, ...sent }
}

function pauseAfter({ delivery, tries }: Work): number {
  return Math.min(RETRY_MS_MAX, delivery.retryMs * 2 ** Math.min(tries.length, 10))
}
