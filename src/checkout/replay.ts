import { countdown } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import { isProblem, Problem } from '../base/problem.ts'
import type { Offer } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import { type Outcome, outcomeOf, publicOutcomeOf } from './answer.ts'
import { digestOf } from './opening.ts'
import type { PaidCall } from './paid-call.ts'
import { lastLook, nameIn } from './payment-lookup.ts'
import { waitFor } from './run.ts'

/**
 * The same payment again. Only the buyer, who sends the same request with a proof that no chain shows, gets the stored answer. A caller who rebuilt
 * the payment from the chain reads what the chain tells; every other caller learns only that it is taken.
 */
export async function replay<Input extends JsonObject>(call: PaidCall<Input>, order: Order): Promise<Outcome> {
  const { checkout, offer, credential } = call
  const shownBy = order.proofDigest === credential.proofDigest ? 'buyer' : await credential.shownBy()
  if (shownBy === 'nobody' || !isSameRequest(call, order)) {
    throw new Problem(
      'payment_conflict',
      'This payment was used for another request. Repeat that one exactly, or read its status; do not pay again.',
      { statusUrl: checkout.paymentUrl(offer.rail.name, nameIn({ rail: offer.rail, credential })) },
    )
  }
  const end = await waited(call, order)
  // It was given up; before the payer is told to pay again, the chain is asked once more.
  if (end.status === 'expired') throw (await lastLook(call)) ?? givenUp(end)
  return shownBy === 'buyer' ? saidBefore(offer, end, true) : saidToAnybody(offer, end)
}

/** The caller's own idempotency key, with a new payment of the same payer: the answer is that of the first purchase, and the new payment is not taken. */
export async function sameKey<Input extends JsonObject>(call: PaidCall<Input>, order: Order): Promise<Outcome> {
  if (!isSameRequest(call, order))
    throw new Problem(
      'idempotency_conflict',
      'This idempotency key was used for another request; this payment was not taken.',
    )
  return saidBefore(call.offer, await waited(call, order), true)
}

function waited<Input extends JsonObject>({ checkout }: PaidCall<Input>, order: Order): Promise<Order> {
  const { clock, limits } = checkout
  return waitFor(checkout, order, countdown(clock, limits.waitMsMax))
}

function isSameRequest<Input extends JsonObject>({ offer, request }: PaidCall<Input>, order: Order): boolean {
  try {
    return digestOf(offer, request.parse()) === order.requestDigest
  } catch (error) {
    if (isProblem(error)) return false
    throw error
  }
}

/** An expired order has nothing to say but: pay again. */
export function saidBefore<Input extends JsonObject>(offer: Offer<Input>, order: Order, isReplay: boolean): Outcome {
  const outcome = outcomeOf(offer as unknown as Offer, order, isReplay)
  if (outcome) return outcome
  throw givenUp(order)
}

function saidToAnybody<Input extends JsonObject>(offer: Offer<Input>, order: Order): Outcome {
  const outcome = publicOutcomeOf(offer as unknown as Offer, order)
  if (outcome) return outcome
  throw givenUp(order)
}

function givenUp(order: Order): Problem {
  const { code, detail } = order.failure ?? { code: 'payment_expired', detail: 'The payment never landed.' }
  return new Problem(code, detail, { status: 402 })
}
