import type { JsonObject } from '../base/json.ts'
import { MAY_HAVE_MOVED, Problem } from '../base/problem.ts'
import type { Outcome } from './answer.ts'
import { mayBeUnderWay } from './misplaced-payment.ts'
import { callWhere, type PaidCall } from './paid-call.ts'
import { landedInTime } from './payment-lookup.ts'
import { returnPayment } from './payment-return.ts'

/** The call at the retired offer whose token the payment names, where there is one: it is judged there, never by what the rail asks for now. */
export function whereMeant<Input extends JsonObject>(call: PaidCall<Input>): PaidCall<Input> {
  const { paysIn } = call.credential
  return (paysIn && callWhere(call, paysIn)) ?? call
}

/** Answers a payment on a retired rail that has bought nothing: it goes back if it landed, and is refused if not. */
export async function refuseRetired<Input extends JsonObject>(call: PaidCall<Input>): Promise<Outcome> {
  const meant = whereMeant(call)
  const { checkout, offer, credential } = meant
  const { label, currency, network } = offer.rail
  const why = `This shop takes no payments by ${label} in ${currency} on ${network} any more, and this one has bought nothing;`
  const isCaptured = credential.funds === 'captured'
  // A stranger may have settled the authorization on the chain.
  const transaction = await landedInTime(meant)
  if (transaction) {
    const orphaned = { transaction, detail: `${why} it goes back to its sender.`, mayBeAnothers: isCaptured }
    throw await returnPayment({ checkout, offer }, orphaned)
  }
  const detail = `${why} what has reached the shop goes back to its sender.`
  // A purchase that the store has forgotten may have sent it, and it may land yet.
  const mayMove = isCaptured || (await mayBeUnderWay(checkout, offer.rail, credential))
  throw new Problem('payment_misplaced', detail, mayMove ? MAY_HAVE_MOVED : {})
}
