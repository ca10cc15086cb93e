import type { Hash } from '../../base/address.ts'
import type { Send } from '../../domain/journal.ts'
import { isInclusionBuried } from '../burial.ts'
import { type Receipt, readReceipt, recallReceipt } from '../receipt.ts'
import { type Lane, noteLanded, noteMined } from './lane.ts'
import { countedNonce, FOREIGN } from './nonce.ts'
import { findNonceUse } from './nonce-use.ts'

/** What is known of a transaction of ours. `pending` never turns into "failed": the signed bytes may land at any time. */
export type SendState =
  | { readonly state: 'mined'; readonly receipt: Receipt }
  | { readonly state: 'pending'; readonly hash: Hash }
  /** The nonce went to another transaction, ours to cancel it or a foreign one, for good: this call can never land. */
  | { readonly state: 'void' }

/** The receipt of whichever version landed; null when none is shown now. */
export async function receiptOf({ rpc }: Lane, { versions }: Send, read = readReceipt): Promise<Receipt | null> {
  for (const { hash } of versions.toReversed()) {
    const receipt = await read(rpc, hash)
    if (receipt) return receipt
  }
  return null
}

/** One that was mined only to use up the nonce makes the step void as soon as it cannot be taken back. */
export async function landedState(lane: Lane, send: Send, receipt: Receipt): Promise<SendState> {
  if (!send.nonceKey) noteLanded(lane, send.nonce + 1)
  noteMined(lane, send.step, receipt)
  const { transactionHash: hash, blockNumber } = receipt
  const isVoid = send.versions.find((version) => version.hash === hash)?.isVoid ?? false
  if (!isVoid) return { state: 'mined', receipt }
  return (await isInclusionBuried(lane.rpc, lane.burial, { hash, blockNumber })) ? { state: 'void' } : pending(send)
}

/** A step that is called void is sent again, or its money goes back; so nothing is void before that is proved. */
export async function stateOf(lane: Lane, send: Send): Promise<SendState> {
  const receipt = await receiptOf(lane, send)
  if (receipt) return landedState(lane, send, receipt)
  if (send.nonceKey) return pending(send)
  if ((await countedNonce(lane)) <= send.nonce) return pending(send)
  // The nonce is gone: ours landed between the two readings, perhaps as a version that another process signed, or a stranger took it.
  const newest = (await lane.journal.find(send.chainId, send.signer, send.orderId, send.step)) ?? send
  const late = await receiptOf(lane, newest)
  if (late) return landedState(lane, newest, late)
  return stateByUse(lane, newest)
}

async function stateByUse(lane: Lane, send: Send): Promise<SendState> {
  const { rpc, burial, signer } = lane
  const { nonce, orderId, step, versions } = send
  const use = await findNonceUse(rpc, signer, nonce)
  if (!use) {
    // It has thrown away what it knew of that block. Another one may keep more.
    const kept = await receiptOf(lane, send, recallReceipt)
    if (kept) return landedState(lane, send, kept)
    const fix = 'add an RPC address that keeps older states; the order waits until one shows it'
    lane.alarm(`unseen ${nonce}`, 'a nonce was used and no node shows what for', { nonce, orderId, step, fix })
    return pending(send)
  }
  const own = versions.find(({ hash }) => hash === use.hash)
  // It is ours, and in a block: its receipt is only late.
  if (own && !own.isVoid) return pending(send)
  if (!own) lane.alarm(`foreign ${nonce}`, FOREIGN, { nonce, orderId, step, hash: use.hash })
  return (await isInclusionBuried(rpc, burial, use)) ? { state: 'void' } : pending(send)
}

function pending({ versions }: Send): SendState {
  return { state: 'pending', hash: versions[0]!.hash }
}
