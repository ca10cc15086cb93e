import { countdown } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import { isProblem, Problem } from '../base/problem.ts'
import type { Offer } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import type { Credential } from '../domain/rail.ts'
import { type Outcome, outcomeOf, publicOutcomeOf } from './answer.ts'
import { digestOf } from './opening.ts'
import { callWhere, type PaidCall } from './paid-call.ts'
import { landedInTime } from './payment-lookup.ts'
import { returnPayment } from './payment-return.ts'
import { waitFor } from './run.ts'

/**
 * The same payment again. Only the buyer, who sends the same request with a proof that no chain shows, gets the stored answer. A caller who rebuilt
 * the payment from the chain reads what the chain tells; every other caller learns only that it is taken.
 */
export async function replay<Input extends JsonObject>(shown: PaidCall<Input>, order: Order): Promise<Outcome> {
  const paid = callWhere(shown, order)
  const call = paid ?? shown
  const { checkout, offer, credential } = call
  const shownBy = order.proofDigest === credential.proofDigest ? 'buyer' : await credential.shownBy()
  if (shownBy === 'nobody' || !isSameRequest(call, order)) {
    throw new Problem(
      'payment_conflict',
      'This payment was used for another request. Repeat that one exactly, or read its status; do not pay again.',
      { statusUrl: checkout.paymentUrl(offer.rail.name, shownName(credential)) },
    )
  }
  const end = await waited(call, order)
  if (end.status === 'expired') await assertNeverLanded(paid)
  return shownBy === 'buyer' ? saidBefore(offer, end, true) : saidToAnybody(offer, end)
}

/** The name that the caller has shown: it tells them no more than they know. */
function shownName({ identities }: Credential): string {
  return encodeURIComponent(identities[0]!.split('/').at(-1)!)
}

/** The caller's own idempotency key, with a new payment of the same payer: the answer is that of the first purchase, and the new payment is not taken. */
export async function sameKey<Input extends JsonObject>(call: PaidCall<Input>, order: Order): Promise<Outcome> {
  if (!isSameRequest(call, order))
    throw new Problem(
      'idempotency_conflict',
      'This idempotency key was used for another request; this payment was not taken.',
    )
  const { offer } = callWhere(call, order) ?? call
  return saidBefore(offer, await waited(call, order), true)
}

function waited<Input extends JsonObject>({ checkout }: PaidCall<Input>, order: Order): Promise<Order> {
  const { clock, limits } = checkout
  return waitFor(checkout, order, countdown(clock, limits.waitMsMax))
}

/** The order was given up; before the payer is told to pay again, the chain is asked once more. */
async function assertNeverLanded<Input extends JsonObject>(call: PaidCall<Input> | null): Promise<void> {
  if (!call)
    throw new Problem(
      'payment_conflict',
      'This payment was given up on a network that this shop no longer looks at. If your wallet shows that it was made, ask the shop; else begin anew without it.',
      { taken: 'unknown', action: 'none' },
    )
  const transaction = await landedInTime(call)
  if (!transaction) return
  const detail = 'This payment landed after its order had been given up; it goes back to its payer.'
  throw await returnPayment(call, { transaction, detail, mayBeAnothers: false })
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
  return outcomeOf(offer as unknown as Offer, order, isReplay) ?? givenUp(order)
}

function saidToAnybody<Input extends JsonObject>(offer: Offer<Input>, order: Order): Outcome {
  return publicOutcomeOf(offer as unknown as Offer, order) ?? givenUp(order)
}

function givenUp(order: Order): never {
  const { code, detail } = order.failure ?? { code: 'payment_expired', detail: 'The payment never landed.' }
  throw new Problem(code, detail, { status: 402 })
}
