import type { Hash } from '../base/address.ts'
import { blockTag } from './block-tag.ts'
import { readReceipt } from './receipt.ts'
import type { Rpc } from './rpc.ts'

/** Chains on which nobody does anything for so many blocks are none that we sell on. */
const EMPTY_BLOCKS_MAX = 300n

type BlockBody = { readonly transactions: readonly Hash[] }

/**
 * Does a node still have what happened since a block? Nodes throw old blocks away, and not all of them refuse to search those: some find nothing. One that
 * shows no receipt from there has forgotten what it is asked for, and one that has not come so far has never known it. False also for who is silent.
 */
export async function remembers(node: Rpc, since: bigint): Promise<boolean> {
  return hasSince(node, since).catch(() => false)
}

async function hasSince(node: Rpc, since: bigint): Promise<boolean> {
  const newest = BigInt(await node.request<string>('eth_blockNumber'))
  if (newest < since) return false
  const last = newest - since > EMPTY_BLOCKS_MAX ? since + EMPTY_BLOCKS_MAX : newest
  for (let number = since; number <= last; number++) {
    const block = await node.request<BlockBody | null>('eth_getBlockByNumber', [blockTag(number), false])
    if (block === null) return false
    const { transactions } = block
    // The chain's own may have none.
    for (const hash of new Set([...transactions.slice(0, 1), ...transactions.slice(-1)]))
      if (await readReceipt(node, hash)) return true
    if (transactions.length > 0) return false
  }
  return true
}
