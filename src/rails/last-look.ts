import type { Hash } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { isSaidByAny } from '../chain/agreed.ts'
import { blockBefore, newestBlocks } from '../chain/head.ts'
import { readReceipt } from '../chain/receipt.ts'
import { type Rpc, wordOf } from '../chain/rpc.ts'
import type { Sender } from '../chain/sender.ts'
import type { PaidOrder } from '../domain/rail.ts'

/** Clocks of chains and replicas differ, and blocks take their time: be sure before saying "never". */
const MARGIN_MS = 60_000

/** Is the time of a payment over for good? The chain's own counts, told by a block that lies deep; ours may be wrong, and only saves asking. */
export async function isOver(
  { clock, deepTime }: { readonly clock: Clock } & Pick<Sender, 'deepTime'>,
  { expiresAt }: PaidOrder,
): Promise<boolean> {
  const end = expiresAt + MARGIN_MS
  return clock.now() > end && (await deepTime()) > end
}

/**
 * Where the last search for a payment begins, before anybody says that there is nothing. One node told the block at which it came, and may have made it
 * up, so two tell it; and when its order was opened the store told, whose clock may be ahead of the chain's. So the earlier of both.
 */
export async function lastSearchFrom(rpc: Rpc, { createdAt }: PaidOrder, told: bigint): Promise<bigint> {
  const opened = await blockBefore(rpc, createdAt - MARGIN_MS, (await newestBlocks(rpc)).lower)
  return opened > told ? told : opened
}

/** What the last search for a payment finds, by whichever node has the blocks still: one that has not may say that nothing is in them. */
export async function foundByAny<Found>(rpc: Rpc, search: (node: Rpc) => Promise<Found | null>): Promise<Found | null> {
  const found = await search(rpc)
  if (found !== null || rpc.second === null) return found
  return wordOf(search(rpc.second))
}

/** Chains on which nobody does anything for so many blocks are none that we sell on. */
const EMPTY_BLOCKS_MAX = 300n

/**
 * Can the search since a block say that there is nothing? Nodes throw old blocks away, and not all of them refuse to search those: some find nothing. One that
 * shows no receipt from there has forgotten what it was asked for, and denies nothing; who is left must be two, where there are two.
 */
export async function isRemembered(rpc: Rpc, since: bigint): Promise<boolean> {
  const denials = (await memories(rpc, since)).map((isKnown) => (isKnown ? false : undefined))
  return !isSaidByAny(rpc, denials, (isShown) => isShown)
}

/** Is there a node that can be read since then? */
export async function isRememberedByAny(rpc: Rpc, since: bigint): Promise<boolean> {
  return (await memories(rpc, since)).includes(true)
}

function memories(rpc: Rpc, since: bigint): Promise<readonly boolean[]> {
  return Promise.all(rpc.each().map((node) => remembers(node, since).catch(() => false)))
}

type BlockBody = { readonly transactions: readonly Hash[] }

async function remembers(node: Rpc, since: bigint): Promise<boolean> {
  const newest = BigInt(await node.request<string>('eth_blockNumber'))
  const last = newest - since > EMPTY_BLOCKS_MAX ? since + EMPTY_BLOCKS_MAX : newest
  for (let number = since; number <= last; number++) {
    const block = await node.request<BlockBody | null>('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
    if (block === null) return false
    const { transactions } = block
    // The chain's own may have none.
    for (const hash of new Set([...transactions.slice(0, 1), ...transactions.slice(-1)]))
      if (await readReceipt(node, hash)) return true
    if (transactions.length > 0) return false
  }
  return true
}
