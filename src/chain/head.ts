import type { Hash } from '../base/address.ts'
import { type Clock, msSince } from '../base/clock.ts'
import type { FinalBlock } from '../domain/receiving-account.ts'
import { blockTag } from './block-tag.ts'
import type { NodeHead } from './nodes.ts'
import type { Receipt } from './receipt.ts'
import { ChainSilent, headOf, type RawHead, type Rpc, RpcError } from './rpc.ts'

export type HeadSource = {
  /** The newest block as it was at most two seconds ago: enough for fees and for where to begin a search, and cheap on the hot path. */
  latest(): Promise<NodeHead>
  /** The newest block now. */
  fresh(): Promise<NodeHead>
}

const CACHE_MS = 2_000

export function createHeadSource({ rpc, clock }: { readonly rpc: Rpc; readonly clock: Clock }): HeadSource {
  let cached: { readonly at: number; readonly head: Promise<NodeHead> } | null = null
  return {
    fresh: async () => headOf(await rpc.request<RawHead>('eth_getBlockByNumber', ['latest', false])),
    async latest() {
      if (cached === null || msSince(clock, cached.at) > CACHE_MS) {
        const head = rpc.newest()
        // A failed reading must not be served for two seconds.
        head.catch(() => {
          cached = null
        })
        cached = { at: clock.now(), head }
      }
      return cached.head
    },
  }
}

/** How deep a transaction must lie, in blocks and in the chain's own time, before we act as if it could not go away again. */
export type Burial = { readonly blocks: bigint; readonly ms: number }

/** Does the block of this receipt stand in the chain, and so deep? */
export async function isReceiptBuried(rpc: Rpc, { blocks, ms }: Burial, receipt: Receipt): Promise<boolean> {
  if (blocks <= 1n && ms <= 0) return true
  const at = (tag: string) => rpc.request<(RawHead & { hash: Hash }) | null>('eth_getBlockByNumber', [tag, false])
  const [newest, block] = await Promise.all([at('latest'), at(blockTag(receipt.blockNumber))])
  if (!newest || block?.hash.toLowerCase() !== receipt.blockHash.toLowerCase()) return false
  const [head, mined] = [headOf(newest), headOf(block)]
  return head.number - mined.number + 1n >= blocks && head.timestampMs - mined.timestampMs >= ms
}

/**
 * The time that this chain has passed for good: that of a block which lies deep. What bears a later one may be replaced by blocks of before
 * it, and in these what had run out has not. Each node that is asked from now on has come as far.
 */
export async function deepTime(rpc: Rpc, { blocks, ms }: Burial): Promise<number> {
  const newest = await rpc.shared()
  const number = newest.number - blocks + 1n
  if (number < 0n) return 0
  return Math.min(blocks <= 1n ? newest.timestampMs : await blockTime(rpc, number), newest.timestampMs - ms)
}

/** When a block was made, in milliseconds. */
export async function blockTime(rpc: Rpc, block: bigint): Promise<number> {
  const found = await rpc.request<RawHead | null>('eth_getBlockByNumber', [blockTag(block), false])
  if (found === null)
    throw new ChainSilent(rpc.chainId, 'eth_getBlockByNumber', new Error(`block ${block} is not there`))
  return headOf(found).timestampMs
}

/** A chain whose finality is further behind than this has none that could be waited for. */
const FINAL_BEHIND_MS_MAX = 3_600_000

/**
 * The newest block that the chain will not take back: by its own word, and as deep as a payment has to lie. Some chains have no such word, or one that does
 * not move; there the depth alone counts.
 */
export async function finalBlock(rpc: Rpc, confirmations: bigint): Promise<FinalBlock> {
  const newest = await rpc.newest()
  const deep = newest.number >= confirmations ? newest.number - confirmations + 1n : 0n
  const said = await rpc
    .request<RawHead | null>('eth_getBlockByNumber', ['finalized', false])
    .catch((error: unknown) => {
      if (error instanceof RpcError) return null
      throw error
    })
  const final = said && headOf(said)
  const behindMs = final ? newest.timestampMs - final.timestampMs : FINAL_BEHIND_MS_MAX + 1
  if (final && final.number <= deep && behindMs <= FINAL_BEHIND_MS_MAX) return { number: final.number, behindMs }
  const deepMs = deep === newest.number ? newest.timestampMs : await blockTime(rpc, deep)
  return { number: deep, behindMs: newest.timestampMs - deepMs }
}

/** The newest block that is not later than this, in milliseconds; the first one, where all are. */
export async function blockBefore(rpc: Rpc, time: number, newest: bigint): Promise<bigint> {
  const isLater = async (block: bigint) => (await blockTime(rpc, block)) > time
  let [low, later] = [newest, newest + 1n]
  // Mostly it is one of the last.
  for (let step = 1n; low > 0n && (await isLater(low)); step *= 2n) [low, later] = [low > step ? low - step : 0n, low]
  while (later - low > 1n) {
    const middle = (low + later) / 2n
    if (await isLater(middle)) later = middle
    else low = middle
  }
  return low
}
