import type { Address, Hash } from '../../base/address.ts'
import { RpcError } from '../errors.ts'
import type { Rules } from '../rules.ts'
import type { SentTransaction } from './envelope.ts'
import { EXPIRING_NONCE_KEY } from './gas.ts'

/** Transactions that were taken and are not in a block yet, oldest first. */
export type Pool = {
  /** Throws the node's refusal when the transaction is there already, or does not outbid the one it would replace. */
  add(transaction: SentTransaction): void
  get(hash: Hash): SentTransaction | undefined
  all(): readonly SentTransaction[]
  /** The oldest one whose turn it is. */
  next(): SentTransaction | undefined
  remove(hash: Hash): void
  clear(): void
  /** Keeps it waiting whatever happens, until `unstickAll`: a transaction that miners ignore. */
  stick(hash: Hash): void
  unstickAll(): void
  /** The first nonce that neither the chain nor a waiting transaction has used. */
  nextNonce(from: Address): bigint
}

const POOL_MAX = 5_000

export function createTransactionPool(options: {
  readonly rules: Rules
  readonly nonceOf: (from: Address, nonceKey: bigint) => bigint
}): Pool {
  const { rules, nonceOf } = options
  const waiting = new Map<Hash, SentTransaction>()
  const bySeat = new Map<string, Hash>()
  const stuck = new Set<Hash>()

  function remove(hash: Hash): void {
    const transaction = waiting.get(hash)
    if (!transaction) return
    waiting.delete(hash)
    bySeat.delete(seatOf(transaction))
    stuck.delete(hash)
  }

  function isNext({ hash, from, nonce, nonceKey }: SentTransaction): boolean {
    if (stuck.has(hash)) return false
    return nonceKey === EXPIRING_NONCE_KEY || nonceOf(from, nonceKey) === nonce
  }

  return {
    add(transaction) {
      if (waiting.has(transaction.hash)) throw new RpcError(rules.refusalCode, 'already known')
      if (waiting.size >= POOL_MAX) throw new RpcError(rules.refusalCode, 'txpool is full')
      const rival = waiting.get(bySeat.get(seatOf(transaction)) ?? '0x')
      if (rival) {
        if (!outbids(transaction, rival)) throw new RpcError(rules.refusalCode, 'replacement transaction underpriced')
        remove(rival.hash)
      }
      waiting.set(transaction.hash, transaction)
      bySeat.set(seatOf(transaction), transaction.hash)
    },
    get: (hash) => waiting.get(hash),
    all: () => [...waiting.values()],
    next() {
      for (const transaction of waiting.values()) if (isNext(transaction)) return transaction
      return undefined
    },
    remove,
    clear() {
      waiting.clear()
      bySeat.clear()
      stuck.clear()
    },
    stick: (hash) => void stuck.add(hash),
    unstickAll: () => stuck.clear(),
    nextNonce(from) {
      let nonce = nonceOf(from, 0n)
      while (bySeat.has(seat(from, 0n, nonce))) nonce++
      return nonce
    },
  }
}

/** Two transactions with one seat exclude each other. Expiring nonces exclude nothing but themselves. */
function seatOf({ hash, from, nonce, nonceKey }: SentTransaction): string {
  return nonceKey === EXPIRING_NONCE_KEY ? hash : seat(from, nonceKey, nonce)
}

function seat(from: Address, nonceKey: bigint, nonce: bigint): string {
  return `${from.toLowerCase()}:${nonceKey}:${nonce}`
}

/** Nodes ask for 10 % more of both fees before they replace a transaction. */
function outbids(bid: SentTransaction, rival: SentTransaction): boolean {
  return (
    bid.maxFeePerGas * 10n >= rival.maxFeePerGas * 11n &&
    bid.maxPriorityFeePerGas * 10n >= rival.maxPriorityFeePerGas * 11n
  )
}
