import type { Address, Hash } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import { providerTransport, type RpcTransport } from '../../src/chain/transport.ts'
import type { DevChain, RpcRequest } from '../../src/devchain/chain.ts'
import { START_MS } from './scheduler.ts'

/** One method of one chain answers as of some blocks ago. Lagging receipts beside fresh logs is what broke things; all together never did. */
export type Lag = {
  readonly chainId: number
  readonly method: string
  readonly blocks: number
  /** Only this node of the chain; absent: all. */
  readonly node?: number
}

/** How the nodes of all chains misbehave at this moment. */
export type Haze = {
  lags(): readonly Lag[]
  /** Since when, if this node shows nothing newer. */
  frozenSince(chainId: number, node: number): number | null
  isSilent(chainId: number, node: number): boolean
  /** The last block that this node shares with the others, while it stands on a branch of its own. */
  forkedAt(chainId: number, node: number): number | null
  /** The transaction that is sent now is forgotten, and comes back later. */
  forgets(chainId: number, raw: Hex): boolean
}

/** A dev chain in this thread, whose blocks come by virtual time: they are made when somebody looks. */
export type SimChain = {
  readonly chainId: number
  readonly blockMs: number
  /** As somebody who sees everything, now. */
  ask(request: RpcRequest): Promise<unknown>
  /** As one of its nodes shows it, with all that is wrong with it at this moment. */
  node(index: number, haze: Haze): RpcTransport
  /** A block at once: for clients that wait for theirs. */
  mine(): Promise<void>
  logs(filter: { readonly address: Address; readonly topics: readonly (Hex | null)[] }): Promise<readonly Log[]>
  rewind(): Promise<void>
}

export type Log = {
  readonly data: Hex
  readonly topics: readonly Hex[]
  readonly transactionHash: Hash
  readonly blockNumber: Hex
}

/** The time of the block that is being made, or else of whoever asks. */
export type WorldTime = { now: () => number; block: number | null }

/** Blocks come as fast as the chain makes them while things go wrong; later, when all only wait, none comes sooner than this. */
const BUSY_MS = 240_000
const QUIET_BLOCK_MS = 2_000

/** A dev chain can be taken back by a thousand blocks, so a long universe must not have more. */
function timeOf(block: number, blockMs: number): number {
  const busy = Math.floor(BUSY_MS / blockMs)
  const slow = Math.max(blockMs, QUIET_BLOCK_MS)
  return START_MS + Math.min(block, busy) * blockMs + Math.max(0, block - busy) * slow
}

type Asked = Parameters<RpcTransport>[0]
type RpcAnswer = Awaited<ReturnType<RpcTransport>>
type Block = { readonly number: Hex; readonly hash: Hash; readonly parentHash: Hash }

const other = (hash: Hash): Hash => `0xf0f0f0f0${hash.slice(10)}`

/** The same height, other parents, and nothing in it. */
function onOwnBranch(block: Block, forkedAt: number): Block & { readonly transactions: readonly never[] } {
  const parentHash = Number(block.number) > forkedAt + 1 ? other(block.parentHash) : block.parentHash
  return { ...block, hash: other(block.hash), parentHash, transactions: [] }
}

/** What a node that is behind answers from the past. */
const READS = new Set([
  'eth_blockNumber',
  'eth_call',
  'eth_getBalance',
  'eth_getBlockByNumber',
  'eth_getLogs',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
])

export async function createSimChain(chain: DevChain, blockMs: number, time: WorldTime): Promise<SimChain> {
  const call = (method: string, ...params: readonly unknown[]) => chain.request({ method, params })
  const { baseFeePerGas } = (await call('eth_getBlockByNumber', 'latest', false)) as { readonly baseFeePerGas: Hex }
  let snapshot = await call('evm_snapshot')
  let blocks = 0

  /** How many blocks of this universe there were at a moment. */
  function blocksAt(ms: number): number {
    let count = 0
    while (timeOf(count + 1, blockMs) <= ms) count++
    return count
  }

  async function catchUp(): Promise<void> {
    for (let at = timeOf(blocks + 1, blockMs); at <= time.now(); at = timeOf(blocks + 1, blockMs)) {
      blocks++
      time.block = at
      await call('evm_mine')
    }
    time.block = null
  }

  async function ask(request: RpcRequest): Promise<unknown> {
    await catchUp()
    return chain.request(request)
  }

  return {
    chainId: chain.chainId,
    blockMs,
    ask,
    node(index, haze) {
      const transport = providerTransport(chain)
      const { chainId } = chain
      const lagOf = (method: string): number => {
        const frozen = haze.frozenSince(chainId, index)
        if (frozen !== null) return Math.max(0, blocks - blocksAt(frozen))
        const isIt = (lag: Lag) => lag.chainId === chainId && lag.method === method && (lag.node ?? index) === index
        return haze.lags().find(isIt)?.blocks ?? 0
      }
      /** Its branch is as long, and empty: it knows the past that it shares with the others, and none of what they did since. */
      async function onBranch(request: Asked, forkedAt: number): Promise<RpcAnswer> {
        const head = Number(await call('eth_blockNumber'))
        const { method, params = [] } = request
        if (method === 'eth_blockNumber') return transport(request)
        if (method === 'eth_getBlockByNumber') {
          const answer = await transport(request)
          const block = (answer as { readonly result?: Block | null }).result
          return block && Number(block.number) > forkedAt ? { result: onOwnBranch(block, forkedAt) } : answer
        }
        if (head > forkedAt) await call('dev_fault', { kind: 'stale', method, blocks: head - forkedAt })
        return transport({ ...request, params })
      }

      return async (request) => {
        await catchUp()
        if (haze.isSilent(chainId, index)) throw new Error('the node does not answer')
        const forkedAt = haze.forkedAt(chainId, index)
        if (forkedAt !== null && READS.has(request.method)) return onBranch(request, forkedAt)
        if (request.method === 'eth_sendRawTransaction' && haze.forgets(chainId, (request.params as readonly [Hex])[0]))
          await call('dev_fault', { kind: 'drop' })
        const lag = READS.has(request.method) ? lagOf(request.method) : 0
        if (lag > 0) await call('dev_fault', { kind: 'stale', method: request.method, blocks: lag })
        return transport(request)
      }
    },
    async mine() {
      await catchUp()
      await call('evm_mine')
    },
    async logs(filter) {
      const all = { ...filter, fromBlock: '0x0', toBlock: 'latest' }
      return (await ask({ method: 'eth_getLogs', params: [all] })) as readonly Log[]
    },
    async rewind() {
      if (!(await call('evm_revert', snapshot))) throw new Error(`chain ${chain.chainId} could not be rewound`)
      await call('dev_clearFaults')
      await call('dev_setBaseFee', baseFeePerGas)
      snapshot = await call('evm_snapshot')
      blocks = 0
      // The newest block is never older than its chain allows.
      time.block = START_MS
      await call('evm_mine')
      time.block = null
    },
  }
}
