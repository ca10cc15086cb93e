import type { Hash } from '../base/address.ts'
import { toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { blockTag } from '../chain/block-tag.ts'
import { type Receipt, readReceipt } from '../chain/receipt.ts'
import { answerOrNull } from '../chain/rpc.ts'
import type { Send } from '../domain/journal.ts'
import { countedNonce, FOREIGN, type NonceQueue, noteLanded, noteMined } from './queue.ts'

type Mined = { readonly state: 'mined'; readonly receipt: Receipt }

/**
 * What is known of a transaction of ours. `superseded`: its nonce has gone to another one, as far as can be seen, so the step is signed again
 * under the next nonce. It is no proof, and needs none: the far side takes the step once.
 */
export type SendState = Mined | { readonly state: 'pending'; readonly hash: Hash } | { readonly state: 'superseded' }

export function hasSucceeded(state: SendState): state is Mined {
  return state.state === 'mined' && state.receipt.succeeded
}

const CLOSE_ORDER = toHex(keccak256(Buffer.from('closeOrder(bytes32)')).subarray(0, 4))

/** Did it land although it was being given up? What would be signed for it now is the closing of its order, and no delivery. */
export function landedWhileClosing({ call, landing }: Send): boolean {
  return landing !== null && call.data.startsWith(CLOSE_ORDER)
}

/** The receipt of whichever version landed; null when none is shown now. */
export async function receiptOf({ rpc }: Pick<NonceQueue, 'rpc'>, { versions }: Send): Promise<Receipt | null> {
  for (const { hash } of versions.toReversed()) {
    const receipt = await readReceipt(rpc, hash)
    if (receipt) return receipt
  }
  return null
}

export async function stateOf(queue: NonceQueue, send: Send): Promise<SendState> {
  const receipt = await receiptOf(queue, send)
  if (receipt) return mined(queue, send, receipt)
  const pending = { state: 'pending', hash: send.versions[0]!.hash } as const
  const { rpc, journal } = queue
  const { nonce, nonceKey, signer, orderId, step } = send
  if (nonceKey || (await countedNonce({ rpc, signer })) <= nonce) return pending
  // By a version that another process signed, or between the two questions.
  const late = await receiptOf(queue, (await journal.at(send)) ?? send)
  if (late) return mined(queue, send, late)
  if (!(await isUsedDeep(queue, send))) return pending
  queue.alarm(`foreign ${nonce}`, FOREIGN, { nonce, orderId, step })
  return { state: 'superseded' }
}

/** Was the nonce used so long ago that the receipt of what used it must be there by now? */
async function isUsedDeep({ rpc, burial }: NonceQueue, { signer, nonce }: Send): Promise<boolean> {
  const { number } = await rpc.newest()
  const deep = number > burial.blocks ? number - burial.blocks + 1n : 0n
  const then = await answerOrNull(rpc.request<string>('eth_getTransactionCount', [signer, blockTag(deep)]))
  return then !== null && Number(then) > nonce
}

export async function mined(queue: NonceQueue, send: Send, receipt: Receipt): Promise<SendState> {
  if (!send.nonceKey && send.signer === queue.signer) noteLanded(queue, send.nonce + 1)
  await noteMined(queue, send, receipt)
  return { state: 'mined', receipt }
}
