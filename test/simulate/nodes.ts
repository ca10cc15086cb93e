import type { Hex } from '../../src/base/hex.ts'
import type { RpcTransport } from '../../src/chain/transport.ts'
import type { SimChain } from './chain.ts'
import { chanceOf } from './chance.ts'

/** What a node is like from the first day to the last: no fault, and nothing that heals. */
export type NodeKind = {
  /** Of all before these it has thrown away states, and what it searches logs by. (Receipts are kept for hours at least, and no universe lasts as long.) */
  readonly blocksKept: number
  /** A search of more is refused. */
  readonly blocksSearched: number
}

const ALL = Number.POSITIVE_INFINITY

/** Of two nodes one at most forgets, because what nobody shows any more nobody can know; and any may search little at once. */
export function nodeKindsOf(seed: number, nodes: number): readonly NodeKind[] {
  const chance = chanceOf(seed, 'nodes')
  const forgets = nodes > 1 && chance.happens(0.5) ? chance.below(nodes) : null
  return Array.from({ length: nodes }, (_, index) => ({
    blocksKept: index === forgets ? chance.pick([130, 300]) : ALL,
    blocksSearched: chance.happens(0.3) ? chance.pick([10, 50, 500]) : ALL,
  }))
}

/** Where one of two has forgotten, the other alone says that something never came, and one word is not enough. */
export const hasForgetful = (nodes: readonly NodeKind[]): boolean => nodes.some(({ blocksKept }) => blocksKept !== ALL)

type Filter = { readonly fromBlock: Hex; readonly toBlock: Hex | 'latest' }

const AS_OF = new Set(['eth_call', 'eth_getTransactionCount', 'eth_getBalance', 'eth_getCode'])

const refused = (message: string) => ({ error: { code: -32_000, message } })

/** The same way to a chain, by a node of this kind. */
export function byKind(chain: SimChain, way: RpcTransport, { blocksKept, blocksSearched }: NodeKind): RpcTransport {
  if (blocksKept === ALL && blocksSearched === ALL) return way
  const newestOf = async () => Number(await chain.ask({ method: 'eth_blockNumber', params: [] }))
  return async (request, ...rest) => {
    const { method, params } = request
    if (method === 'eth_getLogs') {
      const [{ fromBlock, toBlock }] = params as readonly [Filter]
      const newest = await newestOf()
      const last = toBlock === 'latest' ? newest : Number(toBlock)
      if (last - Number(fromBlock) >= blocksSearched) return refused('the range of blocks is too large')
      if (Number(fromBlock) < newest - blocksKept) return refused('history has been pruned for this block')
    }
    if (AS_OF.has(method)) {
      const tag = (params as readonly unknown[])[1]
      const isPast = typeof tag === 'string' && tag.startsWith('0x')
      if (isPast && Number(tag) < (await newestOf()) - blocksKept) return refused('missing trie node')
    }
    return way(request, ...rest)
  }
}
