import { blockTag } from './block-tag.ts'
import type { EvmLog } from './receipt.ts'
import { AnswerTooLarge, ChainSilent, type Rpc, RpcError } from './rpc.ts'
import { LARGE_ANSWER_BYTES_MAX } from './transport.ts'

/** Nodes refuse a search over more blocks than they like; most take this many. */
const BLOCKS_PER_SEARCH = 1_000n

/** Each search that takes too long is waited for, so there are few of them: of 1,000 blocks, 100, 10 and 1. */
const FEWER_WHEN_SLOW = 10n

/**
 * All logs of this kind in some blocks, both ends included, oldest first. Where a node refuses to show them, or we to read them, or it takes longer than
 * anybody waits, fewer blocks are searched at once.
 */
export async function logsIn(rpc: Rpc, filter: object, fromBlock: bigint, toBlock: bigint): Promise<readonly EvmLog[]> {
  const found: EvmLog[] = []
  let most = BLOCKS_PER_SEARCH
  let size = most
  for (let first = fromBlock; first <= toBlock; ) {
    const last = first + size > toBlock ? toBlock : first + size - 1n
    const logs = await search(rpc, filter, first, last)
    if (logs === 'too many') {
      size = (last - first + 1n) / 2n
      continue
    }
    if (logs === 'too slow') {
      const fewer = (last - first + 1n) / FEWER_WHEN_SLOW
      most = size = fewer > 0n ? fewer : 1n
      continue
    }
    for (const log of logs) found.push(log)
    first = last + 1n
    size *= 2n
    if (size > most) size = most
  }
  return found
}

/** Nodes have many words for finding too much, so whatever they refuse is tried with fewer blocks. A single block is read even when it is large. */
async function search(
  rpc: Rpc,
  filter: object,
  first: bigint,
  last: bigint,
): Promise<readonly EvmLog[] | 'too many' | 'too slow'> {
  const range = { fromBlock: blockTag(first), toBlock: blockTag(last) }
  const ask = (bytesMax?: number) => rpc.request<readonly EvmLog[]>('eth_getLogs', [{ ...filter, ...range }], bytesMax)
  if (first === last) return ask(LARGE_ANSWER_BYTES_MAX)
  return ask().catch(async (error: unknown) => {
    if (isRefusal(error)) return 'too many'
    if (await isOnlySlow(rpc, error)) return 'too slow'
    throw error
  })
}

/** The same since a block, in one question: mostly that is a moment ago. Whoever was away for hours asks for more than a node shows at once. */
export async function logsSince(rpc: Rpc, filter: object, fromBlock: bigint): Promise<readonly EvmLog[]> {
  try {
    return await rpc.request('eth_getLogs', [{ ...filter, fromBlock: blockTag(fromBlock), toBlock: 'latest' }])
  } catch (error) {
    if (!isRefusal(error) && !(await isOnlySlow(rpc, error))) throw error
    const newest = BigInt(await rpc.request<string>('eth_blockNumber'))
    // A node that has not come so far has not said that there is nothing.
    if (newest < fromBlock) throw error
    return logsIn(rpc, filter, fromBlock, newest)
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof AnswerTooLarge || error instanceof RpcError
}

/** Did it, or whoever stands before it, run out of time for this very search? Then it answers all else. */
async function isOnlySlow(rpc: Rpc, error: unknown): Promise<boolean> {
  if (!(error instanceof ChainSilent)) return false
  return rpc.request('eth_blockNumber').then(
    () => true,
    () => false,
  )
}
