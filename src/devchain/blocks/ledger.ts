import type { Address, Hash } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import type { EvmLog } from '../evm/machine.ts'
import type { Block, MinedTransaction } from './block.ts'

export type BlockPlace = { readonly block: Block; readonly index: number; readonly transaction: MinedTransaction }
export type PlacedLog = { readonly log: EvmLog; readonly logIndex: number; readonly place: BlockPlace }

/** Null stands for "any" and a list for "one of", as in `eth_getLogs`. All values in lower case. */
export type LogFilter = {
  readonly addresses: readonly Address[] | null
  readonly topics: readonly (readonly Hex[] | null)[]
}

/** The blocks of the chain, and where each transaction is. Always holds at least the genesis block. */
export type Ledger = {
  head(): Block
  /** Oldest first. */
  all(): readonly Block[]
  block(number: number): Block | undefined
  blockByHash(hash: Hash): Block | undefined
  find(transaction: Hash): BlockPlace | undefined
  push(block: Block): void
  /** Takes the head off. */
  pop(): Block
}

/** How many of the newest blocks can be taken back, and have their state asked for. Nodes keep 128. */
const HISTORY_BLOCKS = 2_048

export function createLedger(genesis: Block): Ledger {
  const blocks: Block[] = [genesis]
  const numbers = new Map<Hash, number>([[genesis.hash, 0]])
  const places = new Map<Hash, { number: number; index: number }>()

  return {
    head: () => blocks.at(-1)!,
    all: () => [...blocks],
    block: (number) => blocks[number],
    blockByHash: (hash) => blocks[numbers.get(hash) ?? -1],
    find(hash) {
      const at = places.get(hash)
      if (at === undefined) return undefined
      const block = blocks[at.number]!
      return { block, index: at.index, transaction: block.transactions[at.index]! }
    },
    push(block) {
      blocks.push(block)
      numbers.set(block.hash, block.number)
      block.transactions.forEach(({ hash }, index) => void places.set(hash, { number: block.number, index }))
      const old = blocks[block.number - HISTORY_BLOCKS]
      if (old) blocks[old.number] = { ...old, changes: null }
    },
    pop() {
      const block = blocks.pop()!
      numbers.delete(block.hash)
      for (const { hash } of block.transactions) places.delete(hash)
      return block
    },
  }
}

export function logsOf(block: Block): PlacedLog[] {
  let logIndex = 0
  return block.transactions.flatMap((transaction, index) =>
    transaction.receipt.logs.map((log) => ({ log, logIndex: logIndex++, place: { block, index, transaction } })),
  )
}

export function matches({ address, topics }: EvmLog, filter: LogFilter): boolean {
  if (filter.addresses !== null && !filter.addresses.includes(address)) return false
  // A filter longer than the log's topics asks for a topic that is not there, even where it takes any.
  if (filter.topics.length > topics.length) return false
  return filter.topics.every((wanted, i) => wanted === null || wanted.includes(topics[i]!))
}
