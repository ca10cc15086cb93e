import { type Address, checksumAddress, type Hash, sameAddress } from '../base/address.ts'
import type { Transfer } from '../domain/till.ts'
import { TRANSFER } from './eip3009.ts'
import type { EvmLog, Receipt } from './receipt.ts'
import type { Rpc } from './rpc.ts'

/** Nodes refuse a search over more blocks than they like; all take this many. */
const BLOCKS_PER_SEARCH = 1_000n

/** Every transfer of a token to an address, or from one to another, oldest first. Transfers of nothing, which anybody can make in anybody's name, are left out. */
export async function transfersTo(
  rpc: Rpc,
  { token, to, from }: { readonly token: Address; readonly to: Address; readonly from?: Address },
  fromBlock: bigint,
  toBlock: bigint,
): Promise<readonly Transfer[]> {
  const topics = [TRANSFER, from ? topicOf(from) : null, topicOf(to)]
  const found: Transfer[] = []
  for (const [first, last] of blockRanges(fromBlock, toBlock, BLOCKS_PER_SEARCH)) {
    const range = { fromBlock: `0x${first.toString(16)}`, toBlock: `0x${last.toString(16)}` }
    const logs = await rpc.request<readonly EvmLog[]>('eth_getLogs', [{ address: token, topics, ...range }])
    found.push(...logs.map(read))
  }
  return found.filter(({ amount }) => amount > 0n)
}

/** The same, in one transaction, to any of these addresses. */
export function transfersIn({ logs }: Receipt, token: Address, to: readonly Address[]): readonly Transfer[] {
  const isToOne = (topic: string | undefined) => to.some((one) => topicOf(one) === topic?.toLowerCase())
  return logs
    .filter((log) => sameAddress(log.address, token) && log.topics[0] === TRANSFER && isToOne(log.topics[2]))
    .map(read)
    .filter(({ amount }) => amount > 0n)
}

function topicOf(address: Address): string {
  return `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
}

/** Cuts a range of blocks, both ends included, into pieces of at most `size`. */
export function* blockRanges(from: bigint, to: bigint, size: bigint): Generator<readonly [bigint, bigint]> {
  let first = from
  for (; first + size <= to; first += size) yield [first, first + size - 1n]
  if (first <= to) yield [first, to]
}

function read(log: EvmLog): Transfer {
  return {
    transaction: log.transactionHash.toLowerCase() as Hash,
    logIndex: Number(log.logIndex),
    blockNumber: BigInt(log.blockNumber),
    sender: checksumAddress(`0x${log.topics[1]!.slice(26)}`),
    amount: BigInt(log.data),
  }
}
