import type { Clock } from '../base/clock.ts'
import type { Rpc } from './rpc.ts'

export type Head = { readonly number: bigint; readonly timestampMs: number; readonly baseFee: bigint }

/** The newest block, at most two seconds old: enough for fees and for where to begin a search, and cheap on the hot path. */
export type HeadSource = { latest(): Promise<Head>; fresh(): Promise<Head> }

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
