import { countdown } from '../base/clock.ts'
import { pollUntil } from '../chain/receipt.ts'
import type { Send } from '../domain/journal.ts'
import { type Lease, LeaseLost } from '../domain/lease.ts'
import { broadcastAgain, type FeeRefusal } from './broadcast.ts'
import { hasGap, pushFront, renewFront } from './push.ts'
import type { NonceQueue } from './queue.ts'
import { canLand, signAgain } from './sign.ts'
import { mined, receiptOf, type SendState, stateOf } from './state.ts'

/** Waits for the receipt, and meanwhile does what brings it about: the same bytes again, then the same nonce at other fees. */
export async function follow(queue: NonceQueue, lease: Lease, first: Send, refused: FeeRefusal): Promise<SendState> {
  const { clock, waitMs, stuckAfterMs } = queue
  const isQueued = !first.nonceKey && first.signer === queue.signer
  let send = first
  let refusal = refused
  let isStranded = false
  const toRenew = () => countdown(clock, stuckAfterMs)
  const toNudge = () => countdown(clock, Math.min(1_000, stuckAfterMs / 2))
  let [beforeRenewal, beforeNudge] = [toRenew(), toNudge()]

  async function nudge(): Promise<void> {
    if (isQueued) await pushFront(queue)
    // The node wants other fees: there is no use in waiting. What is only too much together with all in front is paid when they have landed.
    if (refusal === 'cheap' || (refusal === 'dear' && !(await canLand(queue, send))))
      send = await signAgain(queue, lease, send)
    refusal = await broadcastAgain(queue, send)
  }

  async function renew(): Promise<void> {
    if (isQueued) await renewFront(queue, lease)
    isStranded = isQueued && (await hasGap(queue, send.nonce))
    if (isStranded) queue.row.next = null
    // As long as others stand in front of it, more money does not help it.
    if (!isQueued || queue.row.landedBelow >= send.nonce) send = await signAgain(queue, lease, send)
    refusal = await broadcastAgain(queue, send)
  }

  const look = async () => {
    const receipt = await receiptOf(queue, send)
    if (receipt || isStranded) return { receipt }
    if (beforeRenewal() <= 0) {
      beforeRenewal = toRenew()
      await helped(queue, send, renew)
    } else if (beforeNudge() <= 0) {
      beforeNudge = toNudge()
      await helped(queue, send, nudge)
    }
    return null
  }
  const found = await pollUntil(clock, waitMs, look)
  if (!found) return stateOf(queue, send)
  if (!found.receipt) return { state: 'superseded' }
  await queue.waypoint('send.mined')
  return mined(queue, send, found.receipt)
}

/** Help that fails changes nothing: the bytes are out, and may land at any time. */
async function helped({ log, chainId, signer }: NonceQueue, { nonce, step }: Send, help: () => Promise<void>) {
  try {
    await help()
  } catch (error) {
    if (error instanceof LeaseLost) throw error
    log.warn('transaction could not be sped up', { chainId, signer, nonce, step, error })
  }
}
