import type { Address, Hash } from '../base/address.ts'
import { type Clock, countdown } from '../base/clock.ts'
import type { Hex } from '../base/hex.ts'
import { Problem } from '../base/problem.ts'
import type { Rpc } from './rpc.ts'
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

/** What each node shows by itself; undefined for those that gave no answer. */
export async function readReceipts(rpc: Rpc, hash: Hash): Promise<readonly (Receipt | null | undefined)[]> {
  const shown = await rpc.everyone<RawReceipt | null>('eth_getTransactionReceipt', [hash], LARGE_ANSWER_BYTES_MAX)
  return shown.map((raw) => raw && receiptIn(raw, hash))
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

/** The chain answered, and not with what it showed before. */
class NotShown extends Problem {
  constructor(transaction: Hash) {
    super('chain_unavailable', `The chain does not show transaction ${transaction} as it was; try again soon.`)
  }
}

/** A receipt of something else is none. */
function receiptIn(raw: RawReceipt, hash: Hash): Receipt | null {
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
 * while ask at one beat, so that their questions go out together (`transport.ts`).
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
