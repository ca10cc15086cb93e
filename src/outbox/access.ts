import type { HeadSource } from '../chain/head.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { ChainKey } from '../config/signing-key.ts'
import type { Sender } from './sender.ts'
import type { Wallet } from './wallet.ts'

/** A chain, ready to be read and written. */
export type ChainAccess = {
  readonly rpc: Rpc
  readonly head: HeadSource
  /** The time that this chain has passed for good, in milliseconds. */
  deepTime(): Promise<number>
  /** The same key always gets the same sender: two would race for its nonces. */
  sender(key: ChainKey): Sender
  /** To sign with, and not to send. */
  wallet(key: ChainKey): Wallet
}
