import type { Clock } from '../base/clock.ts'
import { ChainSilent, type Rpc } from './rpc.ts'

export type Head = { readonly number: bigint; readonly timestampMs: number; readonly baseFee: bigint }

/** The newest block, at most two seconds old: enough for fees and for where to begin a search, and cheap on the hot path. */
export type HeadSource = { latest(): Promise<Head>; fresh(): Promise<Head> }

/** When a block was made, in milliseconds. */
export async function blockTime(rpc: Rpc, block: bigint): Promise<number> {
  const tag = `0x${block.toString(16)}`
  const found = await rpc.request<{ timestamp: string } | null>('eth_getBlockByNumber', [tag, false])
  if (found === null)
    throw new ChainSilent(rpc.chainId, 'eth_getBlockByNumber', new Error(`block ${block} is not there`))
  return Number(found.timestamp) * 1000
}

const CACHE_MS = 2_000

export function createHeadSource(options: { rpc: Rpc; clock: Clock }): HeadSource {
  const { rpc, clock } = options
  let cached: { readonly at: number; readonly head: Promise<Head> } | null = null
  async function fresh(): Promise<Head> {
    const block = await rpc.request<{ number: string; timestamp: string; baseFeePerGas?: string }>(
      'eth_getBlockByNumber',
      ['latest', false],
    )
    return {
      number: BigInt(block.number),
      timestampMs: Number(block.timestamp) * 1000,
      baseFee: BigInt(block.baseFeePerGas ?? 0),
    }
  }
  return {
    fresh,
    latest() {
      const now = clock.now()
      if (cached === null || now - cached.at > CACHE_MS) {
        const head = fresh()
        // A failed reading must not be served for two seconds.
        head.catch(() => {
          cached = null
        })
        cached = { at: now, head }
      }
      return cached.head
    },
  }
}
