import { countdown } from '../../base/clock.ts'
import type { Send } from '../../domain/journal.ts'
import { LeaseLost } from '../../domain/lease.ts'
import { pollUntil } from '../receipt.ts'
import { broadcastAgain, type FeeRefusal } from './broadcast.ts'
import { renewFront, tendFront } from './front.ts'
import type { Errand, Lane } from './lane.ts'
import { canLand, signAgain } from './sign.ts'
import { landedState, receiptOf, type SendState, stateOf } from './state.ts'

/** Waits for the receipt, and meanwhile does what brings it about: the same bytes again, then the same nonce at other fees. */
export async function follow(lane: Lane, { lease }: Errand, first: Send, refused: FeeRefusal): Promise<SendState> {
  const { rpc, clock, waitMs, stuckAfterMs } = lane
  let send = first
  let refusal = refused
  const toRenew = () => countdown(clock, stuckAfterMs)
  const toNudge = () => countdown(clock, Math.min(1_000, stuckAfterMs / 2))
  let [beforeRenewal, beforeNudge] = [toRenew(), toNudge()]

  async function nudge(): Promise<void> {
    await tendFront(lane, lease, send.nonce)
    // The node wants other fees: there is no use in waiting. What is only too much together with all in front is paid when they have landed.
    if (refusal === 'cheap' || (refusal === 'dear' && !(await canLand(lane, send))))
      send = await signAgain(lane, lease, send)
    refusal = await broadcastAgain(lane, send)
  }

  async function renew(): Promise<void> {
    const { nonce } = send
    await renewFront(lane, lease, nonce)
    // As long as others stand in front of it, more money does not help it.
    if (lane.row.landedBelow >= nonce) send = await signAgain(lane, lease, send)
    refusal = await broadcastAgain(lane, send)
  }

  const look = async () => {
    const receipt = await receiptOf(lane, send)
    if (receipt) return receipt
    if (beforeRenewal() <= 0) {
      beforeRenewal = toRenew()
      await helped(lane, send, renew)
    } else if (beforeNudge() <= 0) {
      beforeNudge = toNudge()
      await helped(lane, send, nudge)
    }
    return null
  }
  const found = await pollUntil(clock, waitMs, look, rpc.heads)
  if (!found) return stateOf(lane, send)
  await lane.waypoint('send.mined')
  return landedState(lane, send, found)
}

/** Help that fails changes nothing: the bytes are out, and may land at any time. */
async function helped({ log, chainId, signer }: Lane, { nonce, step }: Send, help: () => Promise<void>): Promise<void> {
  try {
    await help()
  } catch (error) {
    if (error instanceof LeaseLost) throw error
    log.warn('transaction could not be sped up', { chainId, signer, nonce, step, error })
  }
}
