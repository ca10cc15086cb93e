import type { Hash } from '../base/address.ts'
import type { Landing, Send } from './journal.ts'

/** A delivery or refund whose success was used, and that the chain may still take back. */
export type WatchedSend = Send & {
  readonly landing: Landing
  /** What its order, or the money that came without one, was worth. */
  readonly amount: bigint
}

/** What is watched. `chain/watch.ts` uses it, `store/sends/watch.ts` implements it. */
export type SendWatch = {
  /** The blocks that it was mined in, oldest first. */
  blocks(chainId: number, limit: number): Promise<readonly { readonly number: bigint; readonly hash: Hash }[]>
  minedIn(chainId: number, blockHashes: readonly Hash[], limit: number): Promise<readonly WatchedSend[]>
  /** These blocks lie so deep that nothing in them has to be watched any more. */
  bury(chainId: number, blockHashes: readonly Hash[]): Promise<void>
  /** Another transaction has taken its place. */
  forget(send: Send): Promise<void>
}

/** A delivery or refund that an order counts on, and that the chain did not show when somebody looked. */
export type MissingSend = {
  readonly kind: 'delivery_missing' | 'refund_missing'
  /** The order, or the transfer that went back. */
  readonly orderId: string
  readonly transaction: Hash
  readonly amount: bigint
  /** What was done about it. */
  readonly detail: string
}
