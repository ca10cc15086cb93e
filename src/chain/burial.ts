import type { Hash } from '../base/address.ts'
import { headOf, type RawHead, type Rpc } from './rpc.ts'

/** How deep a transaction must lie, in blocks and in the chain's own time, before we act as if it could not go away again. */
export type Burial = { readonly blocks: bigint; readonly ms: number }

/** Where there are several nodes, another one must show it too: what one of them makes up moves no money. */
export async function isBuried(
  rpc: Rpc,
  { blocks, ms }: Burial,
  { hash, blockNumber }: { readonly hash: Hash; readonly blockNumber: bigint },
): Promise<boolean> {
  if (blocks > 1n || ms > 0) {
    const at = async (tag: string) => rpc.request<RawHead | null>('eth_getBlockByNumber', [tag, false])
    const [newest, block] = await Promise.all([at('latest'), at(`0x${blockNumber.toString(16)}`)])
    if (!newest || !block) return false
    const [head, mined] = [headOf(newest), headOf(block)]
    if (head.number - mined.number + 1n < blocks || head.timestampMs - mined.timestampMs < ms) return false
  }
  return rpc.second === null || (await isShownByTwo(rpc, hash))
}

async function isShownByTwo(rpc: Rpc, hash: Hash): Promise<boolean> {
  const shown = await rpc.everyone<{ readonly blockHash: Hash | null } | null>('eth_getTransactionByHash', [hash])
  const blocks = shown.map((transaction) => transaction?.blockHash ?? null).filter((block) => block !== null)
  return blocks.some((block, index) => blocks.indexOf(block) !== index)
}
