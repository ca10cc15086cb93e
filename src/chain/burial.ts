import { blockTag } from './block-tag.ts'
import { isAgreed } from './node-agreement.ts'
import type { Receipt } from './receipt.ts'
import { headOf, type RawHead, type Rpc } from './rpc.ts'

/** How deep a transaction must lie, in blocks and in the chain's own time, before we act as if it could not go away again. */
export type Burial = { readonly blocks: bigint; readonly ms: number }

/** Where there are several nodes, another one must show the same receipt: what one of them makes up moves no money. */
export async function isReceiptBuried(rpc: Rpc, burial: Burial, receipt: Receipt): Promise<boolean> {
  if (!(await isDeep(rpc, burial, receipt.blockNumber))) return false
  return rpc.second === null || (await isAgreed(rpc, receipt, burial.blocks))
}

/**
 * The time that this chain has passed for good: that of a block which lies deep. What bears a later one may be replaced by blocks of before
 * it, and in these what had run out has not.
 */
export async function deepTime(rpc: Rpc, { blocks, ms }: Burial): Promise<number> {
  const newest = await shown(rpc, 'latest')
  if (!newest) return 0
  const number = newest.number - blocks + 1n
  const block = blocks <= 1n ? newest : number < 0n ? null : await shown(rpc, blockTag(number))
  return block ? Math.min(block.timestampMs, newest.timestampMs - ms) : 0
}

/** The newest block that two nodes have, where there are several: what is asked as of it can be told by both. Null while only one answers. */
export async function newestShared(rpc: Rpc): Promise<bigint | null> {
  return (await shown(rpc, 'latest'))?.number ?? null
}

type Shown = { readonly number: bigint; readonly timestampMs: number }

/** A block; where there are several nodes, as far as two of them have come: the lower number, and the earlier time. Null while only one answers. */
async function shown(rpc: Rpc, tag: string): Promise<Shown | null> {
  const params = [tag, false]
  if (rpc.second === null) {
    const alone = await rpc.request<RawHead | null>('eth_getBlockByNumber', params)
    return alone && headOf(alone)
  }
  const all = await rpc.everyone<RawHead | null>('eth_getBlockByNumber', params)
  const heads = all.filter((one) => one != null).map(headOf)
  const [, byNumber] = heads.toSorted((a, b) => Number(b.number - a.number))
  const [, byTime] = heads.toSorted((a, b) => b.timestampMs - a.timestampMs)
  return byNumber && byTime ? { number: byNumber.number, timestampMs: byTime.timestampMs } : null
}

async function isDeep(rpc: Rpc, { blocks, ms }: Burial, blockNumber: bigint): Promise<boolean> {
  if (blocks <= 1n && ms <= 0) return true
  const at = async (tag: string) => rpc.request<RawHead | null>('eth_getBlockByNumber', [tag, false])
  const [newest, block] = await Promise.all([at('latest'), at(blockTag(blockNumber))])
  if (!newest || !block) return false
  const [head, mined] = [headOf(newest), headOf(block)]
  return head.number - mined.number + 1n >= blocks && head.timestampMs - mined.timestampMs >= ms
}
