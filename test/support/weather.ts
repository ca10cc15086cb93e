import type { RpcTransport } from '../../src/chain/transport.ts'
import type { DevChain } from '../../src/devchain/chain.ts'
import type { DevChains } from '../../src/devchain/chains.ts'

/** What nodes and fees do while a test is about something else. */
export type Weather = {
  /** From now on the first node of each chain lags, or gas costs a hundred times as much, or neither. */
  turn(to: 'calm' | 'lagging' | 'dear'): Promise<void>
  /** The first of two nodes of a chain: what it tells is as old as the weather makes it. */
  firstNode(chain: DevChain): DevChain
  /** Both nodes, for a shop in this process. */
  wrap(chainId: number, transport: RpcTransport): readonly RpcTransport[]
}

const LAG_BLOCKS = 3n
const DEARER = 100n

/** Money on Tempo is signed with a fee of its own, which a payer would have to sign anew: only the native chain becomes dear. */
export function createWeather(chains: () => Pick<DevChains, 'native' | 'tempo'>): Weather {
  let lag = 0n
  let usual: bigint | null = null
  return {
    async turn(to) {
      const { native, tempo } = chains()
      usual ??= await baseFeeOf(native)
      // Whoever lags knows what lies longer back, such as the money that a buyer was given.
      for (let block = 0n; to === 'lagging' && block < LAG_BLOCKS; block++)
        for (const chain of [native, tempo]) await chain.request({ method: 'evm_mine' })
      lag = to === 'lagging' ? LAG_BLOCKS : 0n
      const fee = to === 'dear' ? usual * DEARER : usual
      await native.request({ method: 'dev_setBaseFee', params: [hex(fee)] })
    },
    firstNode: (chain) => ({
      ...chain,
      request: ({ method, params = [] }) =>
        asOf((method, params) => chain.request({ method, params: [...params] }), method, params, lag),
    }),
    wrap: (_chainId, transport) => [
      async (request) => {
        if (lag === 0n) return transport(request)
        const ask: Ask = async (method, params) => {
          const answer = (await transport({ ...request, method, params })) as { result?: unknown; error?: unknown }
          return answer.error === undefined ? answer.result : Promise.reject(new Refused(answer))
        }
        try {
          return { result: await asOf(ask, request.method, request.params, lag) }
        } catch (error) {
          if (error instanceof Refused) return error.answer
          throw error
        }
      },
      transport,
    ],
  }
}

const hex = (value: bigint) => `0x${value.toString(16)}`

type Ask = (method: string, params: readonly unknown[]) => Promise<unknown>

class Refused extends Error {
  readonly answer: unknown
  constructor(answer: unknown) {
    super('the node refused')
    this.answer = answer
  }
}

/** A request as a node answers it that has not heard of the last blocks. What is sent to it goes to all. */
async function asOf(ask: Ask, method: string, params: readonly unknown[], lag: bigint): Promise<unknown> {
  if (lag === 0n || !/^eth_(call|get|blockNumber)/.test(method)) return ask(method, params)
  const head = BigInt((await ask('eth_blockNumber', [])) as string)
  const known = head > lag ? head - lag : 0n
  if (method === 'eth_blockNumber') return hex(known)
  const answer = await ask(
    method,
    params.map((param) => aged(param, hex(known))),
  )
  const block = (answer as { blockNumber?: string | null } | null)?.blockNumber
  return block && BigInt(block) > known ? null : answer
}

function aged(param: unknown, known: string): unknown {
  if (param === 'latest' || param === 'pending') return known
  const { toBlock, fromBlock } = (param ?? {}) as { toBlock?: string; fromBlock?: string }
  if (fromBlock === undefined) return param
  const isOpen = toBlock === undefined || toBlock === 'latest'
  return isOpen ? { ...(param as object), toBlock: known } : param
}

async function baseFeeOf(chain: DevChain): Promise<bigint> {
  const block = await chain.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
  return BigInt((block as { baseFeePerGas: string }).baseFeePerGas)
}
