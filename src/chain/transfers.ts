import { type Address, checksumAddress, type Hash, sameAddress } from '../base/address.ts'
import { isProblem, Problem } from '../base/problem.ts'
import type { TillReading, Transfer } from '../domain/till.ts'
import { TRANSFER } from './eip3009.ts'
import { logsIn } from './logs.ts'
import { remembers } from './memory.ts'
import type { EvmLog, Receipt } from './receipt.ts'
import { type Rpc, RpcError } from './rpc.ts'
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

/**
 * The same, as far as either of two nodes shows it, where there are two: one that is behind, or hides some, does not say that there are none. A silent
 * one says nothing, nor does one that refuses, because it has thrown the blocks away, as long as the other one answers. Each is asked for the blocks that
 * it has, for some refuse a search that goes further; what lies beyond those of whoever answers was not read. Of one transaction the first has the word:
 * they may have it at two places, and it is one payment.
 */
export async function transfersByAny(...[rpc, ...search]: Parameters<typeof transfersTo>): Promise<TillReading> {
  if (rpc.second === null) return { transfers: await transfersTo(rpc, ...search), toBlock: search[2] }
  return transfersBy(rpc.believed(), search)
}

/**
 * The same, of so long ago that nodes may have thrown it away. Only those are heard that have not, each by itself: that one of them remembers says nothing of
 * what another one finds, and the one that does may be behind, or refuse.
 */
export async function transfersByRemembering(
  ...[rpc, ...search]: Parameters<typeof transfersTo>
): Promise<TillReading> {
  const [, fromBlock] = search
  const nodes = rpc.believed()
  const memories = await Promise.all(nodes.map((node) => remembers(node, fromBlock)))
  const remembering = nodes.filter((_, index) => memories[index])
  if (remembering.length > 0) return transfersBy(remembering, search)
  throw new Problem(
    'chain_unavailable',
    `No node of chain ${rpc.chainId} has the blocks since ${fromBlock} any more, in which money may have arrived; add an RPC address that keeps them.`,
  )
}

type Search = Parameters<typeof transfersTo> extends [Rpc, ...infer Rest] ? Rest : never

async function transfersBy(nodes: readonly Rpc[], search: Search): Promise<TillReading> {
  let read: TillReading | null = null
  let refusal: unknown
  for (const node of nodes) {
    const answer = await answerOf(transfersThere(node, ...search))
    if ('refusal' in answer) refusal ??= answer.refusal
    else read = read ? both(read, answer) : answer
  }
  if (read === null) throw refusal
  return read
}

function both(first: TillReading, second: TillReading): TillReading {
  const known = new Set(first.transfers.map(({ transaction }) => transaction))
  const others = second.transfers.filter(({ transaction }) => !known.has(transaction))
  const { toBlock } = first.toBlock < second.toBlock ? second : first
  return { transfers: [...first.transfers, ...others], toBlock }
}

async function answerOf(search: Promise<TillReading>): Promise<TillReading | { readonly refusal: unknown }> {
  try {
    return await search
  } catch (refusal) {
    if (isProblem(refusal) || refusal instanceof RpcError) return { refusal }
    throw refusal
  }
}

async function transfersThere(
  ...[rpc, target, fromBlock, wanted]: Parameters<typeof transfersTo>
): Promise<TillReading> {
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
