import { type Address, checksumAddress, type Hash, sameAddress } from '../base/address.ts'
import type { AccountReading, Transfer } from '../domain/receiving-account.ts'
import { TRANSFER } from './eip3009.ts'
import { logsIn } from './logs.ts'
import type { EvmLog, Receipt } from './receipt.ts'
import type { Rpc } from './rpc.ts'
import { wordOfAddress } from './words.ts'

/**
 * Every transfer of a token to an address, perhaps only from some others, oldest first. Transfers of nothing, which anybody can make in anybody's
 * name, are left out.
 */
export async function transfersTo(
  rpc: Rpc,
  { token, to, from }: { readonly token: Address; readonly to: Address; readonly from?: readonly Address[] },
  fromBlock: bigint,
  toBlock: bigint,
): Promise<readonly Transfer[]> {
  const topics = [TRANSFER, from?.map(topicOf) ?? null, topicOf(to)]
  const found = await logsIn(rpc, { address: token, topics }, fromBlock, toBlock)
  // In blocks that nobody asked for nothing is looked for again: what a node makes up there would stay.
  const isAsked = ({ blockNumber }: Transfer) => blockNumber >= fromBlock && blockNumber <= toBlock
  return found.map(read).filter((transfer) => transfer.amount > 0n && isAsked(transfer))
}

/** The same, as far as the node has blocks now. */
export async function transfersSoFar(
  ...[rpc, target, fromBlock, wanted]: Parameters<typeof transfersTo>
): Promise<AccountReading> {
  const { number: newest } = await rpc.newest()
  const hasAll = newest >= wanted
  const toBlock = hasAll ? wanted : newest
  return { transfers: await transfersTo(rpc, target, fromBlock, toBlock), toBlock }
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
  return `0x${wordOfAddress(address)}`
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
