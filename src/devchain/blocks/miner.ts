import type { Address } from '../../base/address.ts'
import { fromHex } from '../../base/hex.ts'
import { RpcError } from '../errors.ts'
import { makeCode } from '../evm/code.ts'
import type { BlockContext } from '../evm/machine.ts'
import type { State } from '../evm/state.ts'
import type { SentTransaction } from '../transactions/envelope.ts'
import { type Block, type MinedTransaction, type Override, sealBlock } from './block.ts'
import type { History } from './history.ts'
import { createInclusion, type InclusionOptions } from './inclusion.ts'

/** Turns transactions into blocks: the one path on which the chain's state changes. */
export type Miner = {
  /** What a transaction would see if it ran now, on top of the block at `height`. */
  contextAfter(height: number): BlockContext
  nonceOf(from: Address, nonceKey: bigint): bigint
  /** Throws the node's refusal of a transaction that no next block could hold. Changes nothing. */
  check(transaction: SentTransaction): Promise<void>
  mine(content: BlockContent): Promise<Block>
}

type BlockContent = {
  /** Hands out transactions until it gives none. */
  readonly next?: () => SentTransaction | undefined
  /** Hears of a transaction that turned out not to fit: expired while it waited, or its payer is broke by now. */
  readonly unfit?: (transaction: SentTransaction, refusal: RpcError) => void
  readonly overrides?: readonly Override[]
  /** A block that replaces another keeps its time and bears the number of the reorg. */
  readonly timestamp?: number
  readonly fork?: number
}

export function createMiner(options: InclusionOptions & { readonly history: History }): Miner {
  const { rules, state, history } = options
  const { ledger } = history
  const inclusion = createInclusion(options)

  function contextAfter(height: number): BlockContext {
    const parent = ledger.block(height)!
    return {
      number: parent.number + 1,
      timestamp: Math.max(parent.timestamp, history.now()),
      baseFeePerGas: rules.baseFeePerGas,
      gasLimit: rules.blockGasLimit,
      randomness: parent.hash,
    }
  }

  /** An error here is a fault of ours or of the EVM. The block is given up, and the next one starts from a clean state. */
  async function fill(content: BlockContent, context: BlockContext): Promise<MinedTransaction[]> {
    try {
      for (const override of content.overrides ?? []) applyOverride(state, override)
      return await includeAll(content, context)
    } catch (error) {
      state.dropChanges()
      throw error
    }
  }

  async function includeAll({ next, unfit }: BlockContent, context: BlockContext): Promise<MinedTransaction[]> {
    const included: MinedTransaction[] = []
    for (let transaction = next?.(); transaction; transaction = next?.()) {
      try {
        included.push(await inclusion.include(transaction, context))
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        unfit?.(transaction, error)
      }
    }
    return included
  }

  return {
    contextAfter,
    nonceOf: inclusion.nonceOf,
    check: (transaction) => state.dryRun(() => inclusion.check(transaction, contextAfter(ledger.head().number))),
    async mine(content) {
      const parent = ledger.head()
      const { overrides = [], fork = parent.fork } = content
      const natural = contextAfter(parent.number)
      const context = { ...natural, timestamp: content.timestamp ?? natural.timestamp }
      const transactions = await fill(content, context)
      const block = sealBlock({
        number: context.number,
        parentHash: parent.hash,
        timestamp: context.timestamp,
        fork,
        transactions,
        overrides,
        changes: state.takeChanges(),
      })
      history.append(block)
      return block
    },
  }
}

function applyOverride(state: State, { address, balance, code }: Override): void {
  state.setAccount(address, {
    ...(balance === undefined ? {} : { balance }),
    ...(code === undefined ? {} : { code: makeCode(fromHex(code)) }),
  })
}
