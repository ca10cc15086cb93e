import type { Address, Hash } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { type Hex, toHex } from '../base/hex.ts'
import type { JsonObject } from '../base/json.ts'
import { keccak256 } from '../base/keccak.ts'
import type { ProblemCode } from '../base/problem.ts'
import { type CallTerms, Reverted } from '../chain/contract.ts'
import type { Receipt } from '../chain/receipt.ts'
import type { Delivery } from '../domain/good.ts'
import { type Call, isDeliveryStep, type Send } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import type { Sender, Sent } from './sender.ts'

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
  /** What a receipt shows of this order; null when it is not in there. */
  read(receipt: Receipt): JsonObject | null
  /**
   * Is the contract itself closed to us, now or as of a block: paused, or our role taken away? Then waiting helps. It is asked, because what
   * a call reverts with may be the words of whoever receives.
   */
  isClosed(block?: bigint): Promise<boolean>
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
  readonly clock: Clock
  readonly delivery: ChainDelivery
  /** By every key that was ever ours, oldest first. */
  readonly tries: readonly Sent[]
  /** How many transactions of the order were on record, beside settlement, refund and closing. */
  readonly deliveries: number
}

/** Brings a delivery to the chain, from whatever point an earlier try was interrupted at. "Impossible" is said when nothing can land any more. */
export async function deliverOnce(sender: Sender, clock: Clock, delivery: ChainDelivery): Promise<Delivery> {
  const { orderId, deadline } = delivery
  const sends = delivery.isUntried ? [] : await sender.sendsOf(orderId)
  const work = { sender, clock, delivery, ...(await readTries(sender, delivery, sends)) }
  const done = work.tries.find(hasSucceeded)
  if (done) return delivered(work, done)
  if (isGivenUp(delivery, sends)) return giveUp(work, LATE)
  const pending = work.tries.find(({ state }) => state.state === 'pending')
  if (pending) return clock.now() < deadline ? pushed(work, pending) : giveUp(work, LATE)
  // Nothing of ours is in flight now. What the contract remembers counts more than any journal.
  const remembered = work.tries.length > 0 ? await recalled(work) : null
  if (remembered) return remembered
  const reverted = revertOf(work)
  return reverted ? afterRevert(work, reverted) : attempt(work)
}

async function readTries(sender: Sender, { step }: ChainDelivery, sends: readonly Send[]) {
  const tries: Sent[] = []
  for (const send of sends)
    if (send.step === step && send.chainId === sender.chainId) tries.push({ send, state: await sender.look(send) })
  return { tries, deliveries: sends.filter((one) => isDeliveryStep(one.step)).length }
}

function hasSucceeded({ state }: Pick<Sent, 'state'>): boolean {
  return state.state === 'mined' && state.receipt.succeeded
}

function isGivenUp({ closing }: ChainDelivery, sends: readonly Send[]): boolean {
  return sends.some(({ call }) => call.data === closing)
}

async function pushed(work: Work, { send }: Sent): Promise<Delivery> {
  const { sender, delivery } = work
  const state = await sender.push(delivery.lease, send)
  return state.state === 'superseded' ? attempt(work) : judged(work, { send, state })
}

/** What the contract itself remembers of the order. Whichever key has brought it there, it is watched from now on. */
async function recalled({ sender, clock, delivery, tries }: Work): Promise<Delivery | null> {
  const result = await delivery.recall()
  if (!result) return null
  for (const { send } of tries) {
    const state = await sender.look(send)
    if (state.state !== 'mined' || !state.receipt.succeeded) continue
    const landed = { ...sender.landed(send.step, state.receipt), signer: send.signer }
    return { state: 'delivered', result, transaction: landed.hash, landed }
  }
  // A receipt may be shown later than what it did. Without it the delivery could not be watched.
  if (tries.some(({ state }) => state.state !== 'mined') && clock.now() < delivery.deadline)
    return { state: 'pending', detail: 'It is delivered; the receipt of that is awaited.', retryAfterMs: PENDING_MS }
  return { state: 'delivered', result }
}

/** The newest receipt that says no. */
function revertOf({ tries }: Work): Receipt | null {
  const mined = tries.map(({ state }) => (state.state === 'mined' ? state.receipt : null))
  return mined.findLast((receipt) => receipt !== null) ?? null
}

/** Nothing stands against it that we know of: it is tried once more without a trace, and then for good. */
async function attempt(work: Work): Promise<Delivery> {
  const { sender, clock, delivery, tries } = work
  const refusal = await refusalOf(work)
  if (refusal) return refused(work, refusal)
  if (clock.now() >= delivery.deadline) return impossible(work, 'The delivery could not be sent in time.')
  const { to, data, gasMax: gas } = delivery
  const own = tries.map(({ send }) => send).filter(sender.isOwn)
  const sent = await sender.send(delivery, { to, data, gas }, own)
  return judged({ ...work, tries: [...tries, sent], deliveries: work.deliveries + 1 }, sent)
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
  return { state: 'pending', detail, retryAfterMs: pauseAfter(delivery, tries.length) }
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
  const count = tries.filter(({ state }) => state.state === 'mined').length
  if (count < REVERTS_MAX && (await wasClosed(work, reverted))) return attempt(work)
  const remembered = await recalled(work)
  if (remembered) return remembered
  return impossible(work, 'The contract refused the delivery when it was sent.')
}

/** Nodes that have thrown the state of that block away cannot tell; then it was not. */
function wasClosed({ delivery }: Work, { blockNumber }: Receipt): Promise<boolean> {
  return delivery.isClosed(blockNumber).catch(() => false)
}

async function judged(work: Work, one: Sent): Promise<Delivery> {
  const { delivery, tries } = work
  const { state } = one
  if (state.state === 'pending')
    return {
      state: 'pending',
      transaction: state.hash,
      detail: 'The delivery waits for the chain.',
      retryAfterMs: PENDING_MS,
    }
  if (hasSucceeded(one)) return delivered(work, one)
  if (state.state === 'mined') return afterRevert(work, state.receipt)
  const retryAfterMs = pauseAfter(delivery, tries.length)
  return { state: 'pending', detail: 'The delivery did not go through; it is tried again.', retryAfterMs }
}

async function delivered(work: Work, { send, state }: Sent): Promise<Delivery> {
  const { sender, delivery } = work
  const { receipt } = state as Extract<Sent['state'], { state: 'mined' }>
  // A second call under the same order id succeeds and says nothing: the first one delivered, and the contract remembers it.
  const result = delivery.read(receipt) ?? (await delivery.recall())
  if (result !== null) {
    const landed = { ...sender.landed(send.step, receipt), signer: send.signer }
    return { state: 'delivered', result, transaction: receipt.transactionHash, landed }
  }
  if (isGivenUp(delivery, [send])) return givenUp(work, receipt, LATE)
  throw new Error(`${receipt.transactionHash} succeeded without delivering ${delivery.orderId}`)
}

/** With what was on record when it was said, so that it can be seen whether nothing was added since. */
async function impossible(work: Work, detail: string, code: ProblemCode = 'fulfilment_failed'): Promise<Delivery> {
  if (await mayStillLand(work)) return giveUp(work, detail)
  // Whoever receives, or owns what is taken, can make a call revert that was tried out just before.
  const byBuyer = revertOf(work) ? ({ byBuyer: true } as const) : {}
  return { state: 'impossible', code, detail, ...byBuyer, proof: { sends: work.deliveries } }
}

/** Has anything been signed for it, by any key of ours, that is not in a block for good? */
async function mayStillLand({ sender, tries }: Work): Promise<boolean> {
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
  const call = { to: delivery.to, data: delivery.closing, gas: CLOSING_GAS }
  const hanging = tries.find(({ send, state }) => state.state === 'pending' && sender.isOwn(send))
  const state = hanging ? await replaced(work, hanging.send, call) : await closed(work, call)
  return state.state === 'mined' ? givenUp(work, state.receipt, detail) : GIVING_UP
}

function replaced({ sender, delivery: { lease, closing } }: Work, hanging: Send, call: Call) {
  return hanging.call.data === closing ? sender.push(lease, hanging) : sender.replace(lease, hanging, call)
}

/** Again, after one that was refused: the key may have its role back. */
async function closed({ sender, delivery }: Work, call: Call): Promise<Sent['state']> {
  const failed: Send[] = []
  for (const send of await sender.sendsOf(delivery.orderId)) {
    if (send.step !== CLOSE || !sender.isOwn(send)) continue
    const state = await sender.look(send)
    if (state.state === 'mined' && !state.receipt.succeeded && (await sender.isBuried(state.receipt))) failed.push(send)
  }
  return (await sender.send({ ...delivery, step: CLOSE }, call, failed)).state
}

const GIVING_UP = { state: 'pending', detail: 'The delivery is being given up.', retryAfterMs: BURYING_MS } as const

async function givenUp(work: Work, closed: Receipt, detail: string): Promise<Delivery> {
  const { sender, delivery, deliveries } = work
  if (!(await sender.isBuried(closed))) return GIVING_UP
  const remembered = await recalled(work)
  if (remembered) return remembered
  const { tries } = await readTries(sender, delivery, await sender.sendsOf(delivery.orderId))
  if (!closed.succeeded && (await mayStillLand({ ...work, tries })))
    return { ...GIVING_UP, detail: 'The contract does not give the order up. Has the key still its role?' }
  return { state: 'impossible', code: 'fulfilment_failed', detail, proof: { sends: deliveries } }
}

function pauseAfter({ retryMs }: ChainDelivery, tries: number): number {
  return Math.min(RETRY_MS_MAX, retryMs * 2 ** Math.min(tries, 10))
}
