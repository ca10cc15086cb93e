import type { Hash } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { toHex } from '../base/hex.ts'
import type { JsonObject } from '../base/json.ts'
import { keccak256 } from '../base/keccak.ts'
import type { ProblemCode } from '../base/problem.ts'
import type { Delivery } from '../domain/good.ts'
import type { Call } from '../domain/journal.ts'
import { type Attempt, lastAttempt, sendAgain } from './attempts.ts'
import { Reverted } from './contract.ts'
import type { Receipt } from './receipt.ts'
import type { Sender } from './sender.ts'

/** A contract call that delivers one order. The contract takes it once per order id, whatever we send. */
export type ChainDelivery = {
  readonly orderId: string
  readonly step: string
  /** The call with its gas, estimated now. Throws Reverted when the contract would refuse it now. */
  prepare(): Promise<Call>
  /** What the contract itself remembers of this order; null when it has not happened. */
  recall(): Promise<JsonObject | null>
  /** What a receipt shows of this order; null when it is not in there. */
  read(receipt: Receipt): JsonObject | null
  /** Why a refusal will not go away by waiting, or null when it may. */
  isHopeless(refusal: Reverted): { readonly code: ProblemCode; readonly detail: string } | null
  /** After this moment nothing new is sent, what is pending is cancelled, and the money goes back. */
  readonly deadline: number
  /** The first pause between two tries; each next one is twice as long. */
  readonly retryMs: number
}

/** A contract knows an order by 32 bytes. */
export function orderKey(orderId: string): Hash {
  return toHex(keccak256(Buffer.from(orderId)))
}

/** As many reverted transactions as one order may cost us. */
const REVERTS_MAX = 5
const PENDING_MS = 500
const RETRY_MS_MAX = 30_000

/** Brings a delivery to the chain, from whatever point an earlier try was interrupted at. "Impossible" is said only on proof. */
export async function deliverOnce(sender: Sender, clock: Clock, delivery: ChainDelivery): Promise<Delivery> {
  const { orderId, step } = delivery
  const last = await lastAttempt(sender, orderId, step)
  if (last?.state.state === 'pending')
    return clock.now() < delivery.deadline ? follow(sender, delivery, last) : giveUp(sender, delivery, last)
  if (last?.state.state === 'mined' && last.state.receipt.succeeded) return delivered(delivery, last.state.receipt)
  // Nothing of ours is in flight now. What the contract remembers counts more than any journal.
  const remembered = last ? await delivery.recall() : null
  if (remembered) return { state: 'delivered', result: remembered }
  const reverts = last?.state.state === 'mined' ? last.number : 0
  if (reverts >= REVERTS_MAX)
    return {
      state: 'impossible',
      code: 'fulfilment_failed',
      detail: `The contract refused the delivery ${reverts} times.`,
    }
  return attempt(sender, clock, delivery, last?.number ?? 0)
}

async function attempt(sender: Sender, clock: Clock, delivery: ChainDelivery, tries: number): Promise<Delivery> {
  let call: Call
  try {
    call = await delivery.prepare()
  } catch (error) {
    if (!(error instanceof Reverted)) throw error
    const remembered = await delivery.recall()
    if (remembered) return { state: 'delivered', result: remembered }
    const hopeless = delivery.isHopeless(error)
    if (hopeless) return { state: 'impossible', ...hopeless }
    if (clock.now() >= delivery.deadline)
      return {
        state: 'impossible',
        code: 'fulfilment_failed',
        detail: `The contract still refuses the delivery: ${error.reason}.`,
      }
    return {
      state: 'pending',
      detail: `The contract refuses for now: ${error.reason}.`,
      retryAfterMs: pauseAfter(delivery, tries),
    }
  }
  if (clock.now() >= delivery.deadline)
    return { state: 'impossible', code: 'fulfilment_failed', detail: 'The delivery could not be sent in time.' }
  return judged(delivery, await sendAgain(sender, delivery.orderId, delivery.step, call))
}

/** The bytes are out there; wait for them, or send the same ones again. */
async function follow(sender: Sender, delivery: ChainDelivery, { step, number }: Attempt): Promise<Delivery> {
  return judged(delivery, { step, number, state: await sender.resume(delivery.orderId, step) })
}

async function judged(delivery: ChainDelivery, { state, number }: Attempt): Promise<Delivery> {
  if (state.state === 'pending')
    return {
      state: 'pending',
      transaction: state.hash,
      detail: 'The delivery waits for the chain.',
      retryAfterMs: PENDING_MS,
    }
  if (state.state === 'mined' && state.receipt.succeeded) return delivered(delivery, state.receipt)
  return {
    state: 'pending',
    detail: 'The delivery did not go through; it is tried again.',
    retryAfterMs: pauseAfter(delivery, number - 1),
  }
}

async function delivered(delivery: ChainDelivery, receipt: Receipt): Promise<Delivery> {
  // A second call under the same order id succeeds and says nothing: the first one delivered, and the contract remembers it.
  const result = delivery.read(receipt) ?? (await delivery.recall())
  if (result === null) throw new Error(`${receipt.transactionHash} succeeded without delivering ${delivery.orderId}`)
  return { state: 'delivered', result, transaction: receipt.transactionHash }
}

/** The time is over. Before the money goes back, the transaction must be past landing: its nonce is used up by another one. */
async function giveUp(sender: Sender, delivery: ChainDelivery, { step }: Attempt): Promise<Delivery> {
  const state = await sender.cancel(delivery.orderId, step)
  if (state.state === 'mined' && state.receipt.succeeded) return delivered(delivery, state.receipt)
  if (state.state === 'pending')
    return { state: 'pending', detail: 'The delivery is being cancelled.', retryAfterMs: RETRY_MS_MAX }
  const remembered = await delivery.recall()
  if (remembered) return { state: 'delivered', result: remembered }
  return {
    state: 'impossible',
    code: 'fulfilment_failed',
    detail: 'The delivery could not be brought to the chain in time.',
  }
}

function pauseAfter({ retryMs }: ChainDelivery, tries: number): number {
  return Math.min(RETRY_MS_MAX, retryMs * 2 ** Math.min(tries, 10))
}
