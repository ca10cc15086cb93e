import type { Hex } from '../../src/base/hex.ts'
import type { RpcTransport } from '../../src/chain/transport.ts'
import type { SimChain } from './chain.ts'
import { chanceOf } from './chance.ts'

/** What a node is like from the first day to the last: no fault, and nothing that heals. */
export type NodeKind = {
  /** A search of more blocks is refused. */
  readonly blocksSearched: number
}

const ALL = Number.POSITIVE_INFINITY

/** Any may search little at once. One that has thrown blocks away is against the operator's rule. */
export function nodeKindsOf(seed: number, nodes: number): readonly NodeKind[] {
  const chance = chanceOf(seed, 'nodes')
  return Array.from({ length: nodes }, () => ({
    blocksSearched: chance.happens(0.3) ? chance.pick([10, 50, 500]) : ALL,
  }))
}

type Filter = { readonly fromBlock: Hex; readonly toBlock: Hex | 'latest' }

const refused = (message: string) => ({ error: { code: -32_000, message } })

/** No reorganisation of a universe goes so deep. */
const FINAL_BEHIND = 64

/** The same way to a chain, by a node of this kind. */
export function byKind(chain: SimChain, way: RpcTransport, { blocksSearched }: NodeKind): RpcTransport {
  const newestOf = async () => Number(await chain.ask({ method: 'eth_blockNumber', params: [] }))
  return async (request, ...rest) => {
    const { method, params } = request
    if (method === 'eth_getBlockByNumber' && params[0] === 'finalized') {
      const final = Math.max(0, (await newestOf()) - FINAL_BEHIND)
      return way({ ...request, params: [`0x${final.toString(16)}`, false] }, ...rest)
    }
    if (method === 'eth_getLogs' && blocksSearched !== ALL) {
      const [{ fromBlock, toBlock }] = params as readonly [Filter]
      const last = toBlock === 'latest' ? await newestOf() : Number(toBlock)
      if (last - Number(fromBlock) >= blocksSearched) return refused('the range of blocks is too large')
    }
    return way(request, ...rest)
  }
}
