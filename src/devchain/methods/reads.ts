import { type Hex, toHex } from '../../base/hex.ts'
import { type Block, blockGasUsed } from '../blocks/block.ts'
import { logsOf, matches, type Place } from '../blocks/ledger.ts'
import { RpcError } from '../errors.ts'
import type { Methods, Node } from '../node.ts'
import { quantity } from '../quantity.ts'
import { readAddress, readBlock, readHash, readLogFilter, readLogRange, readNumber, readQuantity } from './params.ts'
import { viewBlock, viewLog, viewMined, viewPending, viewReceipt } from './view.ts'

const FEE_HISTORY_MAX = 1_024

/** What the chain knows about itself, its blocks and its transactions. */
export function chainMethods({ rules, history: { ledger }, pool }: Node): Methods {
  const blockAt = (tag: unknown, height: number): Block | undefined => {
    const number = readBlock(tag, height, ledger)
    return number === undefined || number > height ? undefined : ledger.block(number)
  }
  const placeOf = (hash: unknown, height: number): Place | undefined => {
    const place = ledger.find(readHash(hash))
    return place && place.block.number <= height ? place : undefined
  }
  const placesIn = (block: Block): Place[] =>
    block.transactions.map((transaction, index) => ({ block, index, transaction }))
  const showBlock = (block: Block | undefined, full: unknown) => {
    if (!block) return null
    const show = (place: Place): unknown => (full === true ? viewMined(place, rules) : place.transaction.hash)
    return viewBlock(block, placesIn(block).map(show), rules)
  }
  const showAt = (block: Block | undefined, index: unknown) => {
    const place = block && placesIn(block)[readNumber(index)]
    return place ? viewMined(place, rules) : null
  }

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
      const last = blockAt(newest, height)
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
    eth_getBlockByNumber: ([tag, full], height) => showBlock(blockAt(tag, height), full),
    eth_getBlockByHash: ([hash, full], height) => showBlock(blockAt({ blockHash: hash }, height), full),
    eth_getBlockTransactionCountByNumber([tag], height) {
      const block = blockAt(tag, height)
      return block ? quantity(block.transactions.length) : null
    },
    eth_getBlockReceipts([tag], height) {
      const block = blockAt(tag, height)
      return block ? placesIn(block).map((place) => viewReceipt(place, rules)) : null
    },
    eth_getTransactionByHash([hash], height) {
      const place = placeOf(hash, height)
      if (place) return viewMined(place, rules)
      const pending = pool.get(readHash(hash))
      return pending ? viewPending(pending, rules) : null
    },
    eth_getRawTransactionByHash: ([hash], height) => placeOf(hash, height)?.transaction.raw ?? null,
    eth_getTransactionByBlockNumberAndIndex: ([tag, index], height) => showAt(blockAt(tag, height), index),
    eth_getTransactionByBlockHashAndIndex: ([blockHash, index], height) =>
      showAt(blockAt({ blockHash }, height), index),
    eth_getTransactionReceipt([hash], height) {
      const place = placeOf(hash, height)
      return place ? viewReceipt(place, rules) : null
    },
    eth_getLogs([query], height) {
      const filter = readLogFilter(query)
      const range = readLogRange(query, height, ledger)
      if (range === null) throw new RpcError(-32000, 'unknown block')
      const found: unknown[] = []
      for (let number = range.from; number <= range.to; number++) {
        for (const placed of logsOf(ledger.block(number)!)) if (matches(placed.log, filter)) found.push(viewLog(placed))
      }
      return found
    },
  }
}

/** What the chain knows about accounts, now or after an earlier block. */
export function accountMethods({ state, history, pool, miner }: Node): Methods {
  async function after<T>(tag: unknown, height: number, read: () => T): Promise<T> {
    const number = readBlock(tag, height, history.ledger)
    if (number === undefined || number > height) throw new RpcError(-32000, 'header not found')
    return history.atHeight(number, async () => read())
  }

  return {
    eth_getBalance([who, tag], height) {
      const address = readAddress(who)
      return after(tag, height, () => quantity(state.account(address).balance))
    },
    eth_getCode([who, tag], height) {
      const address = readAddress(who)
      return after(tag, height, () => toHex(state.account(address).code.bytes))
    },
    eth_getStorageAt([who, slot, tag], height) {
      const address = readAddress(who)
      const key = word(readQuantity(slot).toString(16))
      return after(tag, height, () => word(toHex(state.slot(address, key)).slice(2)))
    },
    eth_getTransactionCount([who, tag], height) {
      const address = readAddress(who)
      if (tag === 'pending' && height === history.ledger.head().number) return quantity(pool.nextNonce(address))
      return after(tag, height, () => quantity(miner.nonceOf(address, 0n)))
    },
  }
}

function word(digits: string): Hex {
  return `0x${digits.padStart(64, '0')}`
}
