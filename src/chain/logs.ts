import type { EvmLog } from './receipt.ts'
import { AnswerTooLarge, type Rpc, RpcError } from './rpc.ts'
import { LARGE_ANSWER_BYTES_MAX } from './transport.ts'

/** Nodes refuse a search over more blocks than they like; most take this many. */
const BLOCKS_PER_SEARCH = 1_000n

/** All logs of this kind in some blocks, both ends included, oldest first. Where a node refuses to show them, or we to read them, fewer blocks are searched at once. */
export async function logsIn(rpc: Rpc, filter: object, fromBlock: bigint, toBlock: bigint): Promise<readonly EvmLog[]> {
  const found: EvmLog[] = []
  let size = BLOCKS_PER_SEARCH
  for (let first = fromBlock; first <= toBlock; ) {
    const last = first + size > toBlock ? toBlock : first + size - 1n
    const logs = await search(rpc, filter, first, last)
    if (logs === 'too many') {
      size = (last - first + 1n) / 2n
      continue
    }
    for (const log of logs) found.push(log)
    first = last + 1n
    size = size * 2n > BLOCKS_PER_SEARCH ? BLOCKS_PER_SEARCH : size * 2n
  }
  return found
}

/** Nodes have many words for finding too much, so whatever they refuse is tried with fewer blocks. A single block is read even when it is large. */
async function search(rpc: Rpc, filter: object, first: bigint, last: bigint): Promise<readonly EvmLog[] | 'too many'> {
  const range = { fromBlock: hex(first), toBlock: hex(last) }
  const ask = (bytesMax?: number) => rpc.request<readonly EvmLog[]>('eth_getLogs', [{ ...filter, ...range }], bytesMax)
  if (first === last) return ask(LARGE_ANSWER_BYTES_MAX)
  return ask().catch((error: unknown) => {
    if (isRefusal(error)) return 'too many'
    throw error
  })
}

/** The same since a block, in one question: mostly that is a moment ago. Whoever was away for hours asks for more than a node shows at once. */
export async function logsSince(rpc: Rpc, filter: object, fromBlock: bigint): Promise<readonly EvmLog[]> {
  try {
    return await rpc.request('eth_getLogs', [{ ...filter, fromBlock: hex(fromBlock), toBlock: 'latest' }])
  } catch (error) {
    const newest = isRefusal(error) ? BigInt(await rpc.request<string>('eth_blockNumber')) : null
    // A node that has not come so far has not said that there is nothing.
    if (newest === null || newest < fromBlock) throw error
    return logsIn(rpc, filter, fromBlock, newest)
  }
}

/** What each node shows by itself; undefined for those that gave no answer. */
export function logsByEach(
  rpc: Rpc,
  filter: object,
  fromBlock: bigint,
): Promise<readonly (readonly EvmLog[] | undefined)[]> {
  return Promise.all(rpc.each().map((node) => logsSince(node, filter, fromBlock).catch(() => undefined)))
}

function isRefusal(error: unknown): boolean {
  return error instanceof AnswerTooLarge || error instanceof RpcError
}

function hex(block: bigint): string {
  return `0x${block.toString(16)}`
}
