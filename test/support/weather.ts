import { providerTransport, type RpcTransport } from '../../src/chain/rpc.ts'
import type { DevChain } from '../../src/devchain/chain.ts'

/** What nodes and fees do while a test is about something else. */
export type Weather = {
  /** From now on the first node of each chain lags, or gas costs a hundred times as much, or neither. */
  turn(to: 'calm' | 'lagging' | 'dear'): Promise<void>
  /** The first of two nodes of a chain: what it tells is as old as the weather makes it. */
  firstNode(chain: DevChain): DevChain
  /** Both nodes, as a shop in this process has them. */
  nodes(chain: DevChain): readonly RpcTransport[]
}

const LAG_BLOCKS = 3n
const DEARER = 100n

/** Money on Tempo is signed with a fee of its own, which a payer would have to sign anew: only the native chain becomes dear. */
export function createWeather(native: () => DevChain): Weather {
  let lag = 0n
  let usual: bigint | null = null
  const firstNode = (chain: DevChain): DevChain => ({ ...chain, request: (call) => asOf(chain, call, lag) })
  return {
    async turn(to) {
      usual ??= BigInt((await latest(native())).baseFeePerGas)
      lag = to === 'lagging' ? LAG_BLOCKS : 0n
      const fee = to === 'dear' ? usual * DEARER : usual
      await native().request({ method: 'dev_setBaseFee', params: [hex(fee)] })
    },
    firstNode,
    nodes: (chain) => [providerTransport(firstNode(chain)), providerTransport(chain)],
  }
}

const hex = (value: bigint) => `0x${value.toString(16)}`

async function latest(chain: DevChain): Promise<{ number: string; baseFeePerGas: string }> {
  return (await chain.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })) as never
}

/** A request as a node answers it that has not heard of the last blocks. What is sent to it goes to all. */
async function asOf(chain: DevChain, call: Parameters<DevChain['request']>[0], lag: bigint): Promise<unknown> {
  if (lag === 0n || !/^eth_(call|get|blockNumber)/.test(call.method)) return chain.request(call)
  const head = BigInt((await latest(chain)).number)
  const known = head > lag ? head - lag : 0n
  const params = (call.params ?? []).map((param) => aged(param, hex(known)))
  if (call.method === 'eth_blockNumber') return hex(known)
  const answer = await chain.request({ ...call, params })
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
