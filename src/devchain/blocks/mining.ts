import type { Address, Hash } from '../../base/address.ts'
import { invalidParams, type RpcError } from '../errors.ts'
import type { Node } from '../node.ts'
import type { Rules } from '../rules.ts'
import type { SentTransaction } from '../transactions/envelope.ts'
import { decodeEnvelope } from '../transactions/transaction.ts'
import type { Arrivals } from './arrivals.ts'
import type { Block, MinedTransaction } from './block.ts'

/** When blocks are made, and of what. */
export type Mining = {
  /** One block for each waiting transaction whose turn it is. */
  mineEach(): Promise<void>
  /** One block of all the waiting transactions that fit, even if there are none. */
  mineBlock(): Promise<Block>
  /** One block with nothing but this transaction, ahead of the pool. */
  mineOnly(transaction: SentTransaction): Promise<Block>
  /** Replaces the last `depth` blocks by others at the same heights, with or without their transactions, or without those named. */
  reorg(depth: number, transactions: 'remine' | 'drop' | ReadonlySet<Hash>): Promise<void>
}

export function createMining({ rules, history, miner, pool }: Node, arrivals: Arrivals): Mining {
  /** Takes transactions from the pool until the block is full. */
  function fromPool(countMax: number): () => SentTransaction | undefined {
    let count = 0
    let gas = 0n
    return () => {
      const transaction = count < countMax ? pool.next() : undefined
      if (!transaction || gas + transaction.gas > rules.blockGasLimit) return undefined
      count++
      gas += transaction.gas
      pool.remove(transaction.hash)
      return transaction
    }
  }

  function unfit({ hash }: SentTransaction, refusal: RpcError): void {
    arrivals.givenUp(hash, refusal)
  }

  function announce(block: Block): Block {
    for (const { hash } of block.transactions) arrivals.arrived(hash)
    return block
  }

  return {
    async mineEach() {
      while (pool.next()) announce(await miner.mine({ next: fromPool(1), unfit }))
    },
    async mineBlock() {
      return announce(await miner.mine({ next: fromPool(Number.POSITIVE_INFINITY), unfit }))
    },
    async mineOnly(transaction) {
      return announce(await miner.mine({ next: each([transaction]) }))
    },
    async reorg(depth, transactions) {
      const head = history.ledger.head()
      if (depth < 1 || depth > head.number) throw invalidParams(`depth: 1 to ${head.number}`)
      const fork = head.fork + 1
      const stays = survivors(transactions, pool)
      for (const { timestamp, overrides, transactions: old } of history.rewind(head.number - depth)) {
        const again = old.map((one) => revive(one, rules)).filter(stays)
        await miner.mine({ next: each(again), overrides, timestamp, fork })
      }
    },
  }
}

/** What is mined again. Whoever comes after a dropped transaction of the same key cannot be, and waits in the pool. */
function survivors(
  transactions: 'remine' | 'drop' | ReadonlySet<Hash>,
  pool: Node['pool'],
): (transaction: SentTransaction) => boolean {
  if (transactions === 'drop') return () => false
  if (transactions === 'remine') return () => true
  const interrupted = new Set<Address>()
  return (transaction) => {
    const { hash, from } = transaction
    if (transactions.has(hash)) {
      interrupted.add(from)
      return false
    }
    if (!interrupted.has(from)) return true
    pool.add(transaction)
    return false
  }
}

/** The signers are known: they were proved when the transaction first arrived. */
function revive({ raw, from, feePayer }: MinedTransaction, rules: Rules): SentTransaction {
  const { signers: _, ...envelope } = decodeEnvelope(raw, rules)
  return { ...envelope, from, feePayer }
}

function each(transactions: readonly SentTransaction[]): () => SentTransaction | undefined {
  let index = 0
  return () => transactions[index++]
}
