import { broadcast } from './broadcast.ts'
import { follow } from './follow.ts'
import { tendFront } from './front.ts'
import type { Errand, Lane } from './lane.ts'
import { signVoid } from './sign.ts'
import { type SendState, stateOf } from './state.ts'

/** Sees to it that a step can never land any more, by using up its nonce. `mined` when it landed after all. */
export async function cancel(lane: Lane, errand: Errand): Promise<SendState> {
  const { journal, chainId, signer } = lane
  const { lease, orderId, step } = errand
  const send = await journal.find(chainId, signer, orderId, step)
  if (!send) return { state: 'void' }
  const before = await stateOf(lane, send)
  if (before.state !== 'pending') return before
  const voided = send.versions.at(-1)!.isVoid ? send : await signVoid(lane, lease, send)
  await tendFront(lane, lease, voided.nonce)
  return follow(lane, errand, voided, await broadcast(lane, voided))
}
