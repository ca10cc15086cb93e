import type { Address, Hash } from '../base/address.ts'
import { type Clock, countdown } from '../base/clock.ts'
import type { Hex } from '../base/hex.ts'
import { Problem } from '../base/problem.ts'
import { blockTag } from './block-tag.ts'
import { type Rpc, RpcError } from './rpc.ts'
import { LARGE_ANSWER_BYTES_MAX } from './transport.ts'

export type EvmLog = {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly blockNumber: Hex
  readonly transactionHash: Hash
  readonly logIndex: Hex
}

export type Receipt = {
  readonly transactionHash: Hash
  readonly succeeded: boolean
  readonly blockNumber: bigint
  readonly blockHash: Hash
  readonly from: Address
  readonly logs: readonly EvmLog[]
  /** What it cost; the price in wei, or in whatever the chain asks for gas. */
  readonly gasUsed: bigint
  readonly gasPrice: bigint
}

type RawReceipt = {
  readonly transactionHash: Hash
  readonly status: Hex
  readonly blockNumber: Hex
  readonly blockHash: Hash
  readonly from: Address
  readonly logs: readonly EvmLog[]
  readonly gasUsed?: Hex
  readonly effectiveGasPrice?: Hex
}

/**
 * Null means: not seen by this node now. It never means that the transaction failed. Anybody can put a payment of somebody else into a
 * transaction with very many logs, so a receipt is read even when it is large, except on a stranger's word.
 */
export async function readReceipt(
  rpc: Rpc,
  hash: Hash,
  answerBytesMax = LARGE_ANSWER_BYTES_MAX,
): Promise<Receipt | null> {
  const raw = await rpc.request<RawReceipt | null>('eth_getTransactionReceipt', [hash], answerBytesMax)
  return raw === null ? null : receiptIn(raw, hash)
}

/** What each node shows by itself. */
export function readReceipts(
  rpc: Rpc,
  hash: Hash,
  answerBytesMax = LARGE_ANSWER_BYTES_MAX,
): Promise<readonly (RawReceipt | null | undefined)[]> {
  return rpc.everyone<RawReceipt | null>('eth_getTransactionReceipt', [hash], answerBytesMax)
}

/**
 * From whichever node has it, for what was mined long ago: many keep the last blocks only, and say of all before that there is nothing. For nobody who
 * waits for something to be mined. One that has the block and not the transaction in it has forgotten nothing: the other shows what the chain has dropped.
 */
export async function recallReceipt(rpc: Rpc, hash: Hash): Promise<Receipt | null> {
  const shown = await readReceipt(rpc, hash)
  if (shown || rpc.second === null) return shown
  const others = await readReceipts(rpc, hash)
  const recalled = others.map((raw) => (raw ? receiptIn(raw, hash) : null)).find((one) => one !== null) ?? null
  if (!recalled || (await isToCome(rpc, recalled)) || (await isDenied(rpc, recalled))) return null
  return recalled
}

/** Has the first node not come yet to the block in which another one shows a transaction? Then it has not thrown it away. */
async function isToCome(rpc: Rpc, { blockNumber }: Pick<Receipt, 'blockNumber'>): Promise<boolean> {
  return BigInt(await rpc.request<Hex>('eth_blockNumber')) < blockNumber
}

type BlockBody = { readonly hash: Hash; readonly transactions: readonly Hash[] }

/** Does the first node have the block in which another one shows a transaction, without it? */
async function isDenied(
  rpc: Rpc,
  { blockNumber, blockHash, transactionHash }: Pick<Receipt, 'blockNumber' | 'blockHash' | 'transactionHash'>,
): Promise<boolean> {
  const question = [blockTag(blockNumber), false]
  const asked = rpc.request<BlockBody | null>('eth_getBlockByNumber', question, LARGE_ANSWER_BYTES_MAX)
  const block = await asked.catch((error: unknown) => {
    if (error instanceof RpcError) return null
    throw error
  })
  if (block === null) return false
  return block.hash !== blockHash || !block.transactions.some((one) => one.toLowerCase() === transactionHash)
}

/** The receipt that holds this very log. Throws while it is not shown: a node that is behind says nothing about what stands beside the log. */
export async function receiptAround(
  rpc: Rpc,
  { transaction, logIndex }: { readonly transaction: Hash; readonly logIndex: number },
): Promise<Receipt> {
  const receipt = await readReceipt(rpc, transaction)
  if (!receipt?.logs.some((log) => Number(log.logIndex) === logIndex)) throw new NotShown(transaction)
  return receipt
}

/** All that a payment is judged by. */
export function fingerprint({ succeeded, blockNumber, blockHash, from, logs }: Receipt): string {
  const said = logs.map(({ address, topics, data }) => [address, ...topics, data].join())
  return [succeeded, blockNumber, blockHash, from, ...said].join('|').toLowerCase()
}

/** The chain answered, and not with what it showed before. */
class NotShown extends Problem {
  constructor(transaction: Hash) {
    super('chain_unavailable', `The chain does not show transaction ${transaction} as it was; try again soon.`)
  }
}

/** A receipt of something else is none. */
export function receiptIn(raw: RawReceipt, hash: Hash): Receipt | null {
  if (raw.transactionHash.toLowerCase() !== hash.toLowerCase()) return null
  return {
    transactionHash: raw.transactionHash.toLowerCase() as Hash,
    succeeded: raw.status === '0x1',
    blockNumber: BigInt(raw.blockNumber),
    blockHash: raw.blockHash,
    from: raw.from,
    logs: raw.logs,
    gasUsed: BigInt(raw.gasUsed ?? 0),
    gasPrice: BigInt(raw.effectiveGasPrice ?? 0),
  }
}

const POLL_MS_FIRST = 5
const BEAT_MS = 150

/**
 * Asks soon, then less often, until `read` answers or `waitMs` has passed. Local chains answer at the first call. Those who have waited for a
 * while ask at one beat, so that their questions go out together (`rpc-batches.ts`).
 */
export async function pollUntil<Found>(
  clock: Clock,
  waitMs: number,
  read: () => Promise<Found | null>,
): Promise<Found | null> {
  const left = countdown(clock, waitMs)
  for (let pause = POLL_MS_FIRST; ; pause *= 1.5) {
    const found = await read()
    const waits = pause < BEAT_MS ? pause : BEAT_MS - (clock.now() % BEAT_MS)
    if (found !== null || waits > left()) return found
    await clock.sleep(waits)
  }
}
