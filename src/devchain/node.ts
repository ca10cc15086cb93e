import type { Clock } from '../base/clock.ts'
import type { Block } from './blocks/block.ts'
import { type History, openHistory } from './blocks/history.ts'
import { createMiner, type Miner } from './blocks/miner.ts'
import { type FeeCollector, nativeFees, tip20Fees } from './evm/fees.ts'
import { createMachine, type Machine } from './evm/machine.ts'
import { noncePrecompile } from './evm/nonce-precompile.ts'
import { createState, type State } from './evm/state.ts'
import type { Rules } from './rules.ts'
import type { SentTransaction } from './transactions/envelope.ts'
import { createTransactionPool, type Pool } from './transactions/pool.ts'

/** The parts of a chain, put together. Nothing here guards against two callers at once: the chain's queue does. */
export type Node = {
  readonly rules: Rules
  readonly state: State
  readonly history: History
  readonly machine: Machine
  readonly fees: FeeCollector
  readonly miner: Miner
  readonly pool: Pool
}

/** A method of JSON-RPC. `height` is the head as this request may see it; it is lower than the real one under a fault. */
type RpcMethod = (params: readonly unknown[], height: number) => unknown
export type Methods = Readonly<Record<string, RpcMethod>>

export async function openNode(options: {
  readonly rules: Rules
  readonly clock: Clock
  readonly path: string | null
  readonly past?: readonly Block[] | undefined
  readonly reverts: (transaction: SentTransaction) => boolean
}): Promise<Node> {
  const { rules, clock, path, past, reverts } = options
  const state = createState()
  const history = await openHistory({ rules, state, clock, path, past })
  const machine = await createMachine({
    chainId: rules.chainId,
    state,
    precompiles: rules.name === 'tempo' ? [noncePrecompile(state)] : [],
    blockHash: (number) => history.ledger.block(number)?.hash,
  })
  const fees = rules.name === 'tempo' ? tip20Fees({ rules, state, machine }) : nativeFees({ rules, state })
  const miner = createMiner({ rules, state, history, machine, fees, reverts })
  const pool = createTransactionPool({ rules, nonceOf: miner.nonceOf })
  return { rules, state, history, machine, fees, miner, pool }
}
