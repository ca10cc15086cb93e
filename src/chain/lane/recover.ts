import { type Address, type Hash, sameAddress } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { Problem } from '../../base/problem.ts'
import type { Call, Send } from '../../domain/journal.ts'
import type { Lease } from '../../domain/lease.ts'
import { isInclusionBuried } from '../burial.ts'
import { isDenied, isToCome } from '../receipt.ts'
import type { Rpc } from '../rpc.ts'
import type { Errand, Lane } from './lane.ts'
import { countedBeyond, countedNonce } from './nonce.ts'

/** Has the chain counted more of this key than the journal knows? Then the journal is an older copy of itself. */
export async function isJournalShort(lane: Lane): Promise<boolean> {
  const { journal, chainId, signer } = lane
  return (await journal.unknownBefore(chainId, signer, await mostCounted(lane))) > 0
}

/** By whichever node counts most: one that counts too few would hide what was sent, and one too many only makes us look once more. */
async function mostCounted(lane: Lane): Promise<number> {
  const { rpc, signer } = lane
  if (rpc.second === null) return countedNonce(lane)
  const all = await rpc.everyone<Hex>('eth_getTransactionCount', [signer, 'latest'])
  const counts = all.filter((one) => one !== undefined).map(Number)
  return counts.length > 0 ? Math.max(...counts) : countedNonce(lane)
}

/**
 * One of these transactions may be a step that the journal has lost: then it is written down, as if it had always been there. False when
 * none of them is: they are not ours, or known as the work of another order.
 */
export async function adoptLost(lane: Lane, errand: Errand, call: Call, candidates: readonly Hash[]): Promise<boolean> {
  for (const hash of candidates) {
    const found = await shownByAny(lane.rpc, hash)
    // We sign in one lane of nonces only: in another one of Tempo's it was somebody's hand, and its number is no nonce of ours.
    if (!found || !sameAddress(found.from, lane.signer) || Number(found.nonceKey ?? 0) !== 0) continue
    if (await adopt(lane, errand, call, { ...found, hash })) return true
  }
  return false
}

type Found = {
  readonly from: Address
  readonly nonce: Hex
  readonly nonceKey?: Hex | null
  readonly blockNumber: Hex | null
  readonly blockHash: Hash | null
}

/**
 * A node has found it a moment ago. The first one may have thrown it away since, or be behind, so it is taken from whoever shows it; and while nobody does it
 * is not said to be somebody else's. Null: the first one has the block, and it is not in it.
 */
async function shownByAny(rpc: Rpc, hash: Hash): Promise<Found | null> {
  const question = ['eth_getTransactionByHash', [hash]] as const
  const first = await rpc.request<Found | null>(...question)
  if (first) return first
  const shown = (await rpc.everyone<Found | null>(...question)).find((one) => one != null)
  if (!shown?.blockNumber || !shown.blockHash) throw unsettled(hash)
  const { blockNumber, blockHash } = shown
  const place = { blockNumber: BigInt(blockNumber), blockHash, transactionHash: hash }
  if (await isToCome(rpc, place)) throw unsettled(hash)
  return (await isDenied(rpc, place)) ? null : shown
}

function unsettled(hash: Hash): Problem {
  return new Problem(
    'chain_unavailable',
    `Transaction ${hash} may be what is to be sent; the chain has to settle first.`,
  )
}

/** The signed bytes are lost, but they have landed: nobody will have to send them. */
async function adopt(
  lane: Lane,
  { lease, orderId, step }: Errand,
  call: Call,
  { hash, nonce: used, blockNumber }: Found & { readonly hash: Hash },
): Promise<boolean> {
  const { journal, log, chainId, signer } = lane
  const nonce = Number(used)
  // What has landed is counted, by whoever is asked. A nonce that one node makes up would never come, and all that is signed after it would wait behind it.
  if ((await countedBeyond(lane, nonce)) <= nonce) throw unsettled(hash)
  const fees = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }
  const version = { raw: '0x', hash, fees, isVoid: false } as const
  const send: Send = { chainId, signer, nonce, orderId, step, call, versions: [version], landing: null }
  // A nonce that looked unused to a node which lagged may have been filled in; what landed under it is this.
  const isWritten = (await journal.record(lease, send)) === null || (await journal.claimGap(lease, send))
  if (!isWritten && !(await claimLost(lane, lease, send, blockNumber))) return false
  log.error('journal lacked a transaction that is on the chain', { chainId, signer, nonce, orderId, step, hash })
  return true
}

/** While it was in no block another one was signed under its nonce, by a store that had forgotten it. False: it is that other one. */
async function claimLost(
  { journal, rpc, burial, chainId, signer }: Lane,
  lease: Lease,
  send: Send,
  blockNumber: Hex | null,
): Promise<boolean> {
  const { nonce, versions } = send
  const { hash } = versions[0]!
  const [other] = await journal.between(chainId, signer, nonce, nonce + 1)
  if (!other || other.versions.some((version) => version.hash.toLowerCase() === hash.toLowerCase())) return false
  if (blockNumber === null || !(await isInclusionBuried(rpc, burial, { hash, blockNumber: BigInt(blockNumber) })))
    throw unsettled(hash)
  return journal.claimLost(lease, send)
}
