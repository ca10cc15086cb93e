import { blockGasUsed } from '../blocks/block.ts'
import { RpcError } from '../errors.ts'
import type { Methods, Node } from '../node.ts'
import { quantity } from '../quantity.ts'
import { findBlock, readNumber } from './params.ts'

const FEE_HISTORY_MAX = 1_024

/** What the chain says about itself: who it is, how high, and what gas costs. */
export function factMethods({ rules, history: { ledger } }: Node): Methods {
  return {
    eth_chainId: () => quantity(rules.chainId),
    net_version: () => String(rules.chainId),
    net_listening: () => true,
    web3_clientVersion: () => 'sutler-devchain/1',
    eth_syncing: () => false,
    eth_accounts: () => [],
    eth_blockNumber: (_, height) => quantity(height),
    eth_gasPrice: () => quantity(rules.baseFeePerGas + rules.priorityFeePerGas),
    eth_maxPriorityFeePerGas: () => quantity(rules.priorityFeePerGas),
    eth_feeHistory([count, newest, percentiles], height) {
      const last = findBlock(newest, height, ledger)
      if (!last) throw new RpcError(-32000, 'block not found')
      const length = Math.min(readNumber(count), last.number + 1, FEE_HISTORY_MAX)
      const blocks = Array.from({ length }, (_, i) => ledger.block(last.number - length + 1 + i)!)
      const rewards = Array.isArray(percentiles) ? percentiles.map(() => quantity(rules.priorityFeePerGas)) : null
      return {
        oldestBlock: quantity(last.number - length + 1),
        // One more than asked for: the next block's fee is known already.
        baseFeePerGas: Array.from({ length: length + 1 }, () => quantity(rules.baseFeePerGas)),
        gasUsedRatio: blocks.map((block) => Number(blockGasUsed(block)) / Number(rules.blockGasLimit)),
        ...(rewards && { reward: blocks.map(() => rewards) }),
      }
    },
  }
}
