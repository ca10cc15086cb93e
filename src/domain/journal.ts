import type { Address, Hash } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'

/** A contract call that the service signs itself. */
export type Call = {
  readonly to: Address
  readonly data: Hex
  readonly gas: bigint
}

/** One nonce of one key of ours, what it is for, and every version of its transaction that we ever signed. */
export type Send = {
  readonly chainId: number
  readonly signer: Address
  readonly nonce: number
  readonly orderId: string
  readonly step: string
  readonly call: Call
  /** Signed bytes, oldest first; a later one replaces the earlier with higher fees. Any of them may be the one that lands. */
  readonly versions: readonly SignedVersion[]
}

export type SignedVersion = {
  readonly raw: Hex
  readonly hash: Hash
  readonly fees: Fees
  /** Signed only to use up the nonce, so that the call can never land. */
  readonly isVoid: boolean
}

export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

/**
 * Where signed bytes are written before they leave the process. `chain/sender.ts` uses it, `store/journal.ts` implements it.
 * Nonces are free of gaps because each is recorded only right after the last recorded one.
 */
export type Journal = {
  find(chainId: number, signer: Address, orderId: string, step: string): Promise<Send | null>
  lastNonce(chainId: number, signer: Address): Promise<number | null>
  /** How many transactions of this key below a nonce are not written down. Those before the first that is do not count. */
  unknownBefore(chainId: number, signer: Address, nonce: number): Promise<number>
  /** Writes it down; false when the nonce has another use, or this step has a transaction already. Throws when the order was given up. */
  record(send: Send): Promise<boolean>
  /** Adds a newer version of the same nonce; false when somebody else added one first. */
  addVersion(send: Send, version: SignedVersion): Promise<boolean>
  /** What may still be missing from the chain: all sends of this key from a nonce up to, but without, another. */
  between(chainId: number, signer: Address, from: number, before: number): Promise<readonly Send[]>
}
