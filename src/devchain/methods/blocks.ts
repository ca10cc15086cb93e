import type { Block } from '../blocks/block.ts'
import { type BlockPlace, logsOf, matches } from '../blocks/ledger.ts'
import { RpcError } from '../errors.ts'
import type { Methods, Node } from '../node.ts'
import { quantity } from '../quantity.ts'
import { findBlock, readHash, readLogFilter, readLogRange, readNumber } from './params.ts'
import { viewBlock, viewLog, viewMined, viewPending, viewReceipt } from './view.ts'

/** The blocks of the chain, their transactions and their logs. */
export function blockMethods({ rules, history: { ledger }, pool }: Node): Methods {
  const blockAt = (tag: unknown, height: number) => findBlock(tag, height, ledger)
  const placeOf = (hash: unknown, height: number): BlockPlace | undefined => {
    const place = ledger.find(readHash(hash))
    return place && place.block.number <= height ? place : undefined
  }
  const placesIn = (block: Block): BlockPlace[] =>
    block.transactions.map((transaction, index) => ({ block, index, transaction }))
  const showBlock = (block: Block | undefined, full: unknown) => {
    if (!block) return null
    const show = (place: BlockPlace): unknown => (full === true ? viewMined(place, rules) : place.transaction.hash)
    return viewBlock(block, placesIn(block).map(show), rules)
  }
  const showAt = (block: Block | undefined, index: unknown) => {
    const place = block && placesIn(block)[readNumber(index)]
    return place ? viewMined(place, rules) : null
  }

  return {
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
