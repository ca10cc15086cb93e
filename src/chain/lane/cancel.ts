import type { Send } from '../../domain/journal.ts'
import { broadcast } from './broadcast.ts'
import { follow } from './follow.ts'
import { tendFront } from './front.ts'
import type { Errand, Lane } from './lane.ts'
import { signVoid } from './sign.ts'
import { type SendState, stateOf } from './state.ts'

/** Sees to it that a step can never land any more, by using up its nonce. `mined` when it landed after all. */
export async function cancel(lane: Lane, errand: Errand): Promise<SendState> {
  const voided = await signAway(lane, errand)
  if ('state' in voided) return voided
  await tendFront(lane, errand.lease, voided.nonce)
  return follow(lane, errand, voided, await broadcast(lane, voided))
}

/** Signs and writes down what uses up the nonce of a step, and sends nothing: from then on nobody sends the step itself. */
export async function signAway(lane: Lane, { lease, orderId, step }: Errand): Promise<Send | SendState> {
  const { journal, chainId, signer } = lane
  const send = await journal.find(chainId, signer, orderId, step)
  if (!send) return { state: 'void' }
  const before = await stateOf(lane, send)
  if (before.state !== 'pending') return before
  return send.versions.at(-1)!.isVoid ? send : signVoid(lane, lease, send)
}
