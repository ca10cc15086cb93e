import type { Address, Hash } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import type { Lease } from './lease.ts'

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
  /** Tempo has many rows of nonces for a key. Absent: the ordinary one. */
  readonly nonceKey?: Hex | undefined
  readonly nonce: number
  readonly orderId: string
  readonly step: string
  readonly call: Call
  /** Signed bytes, oldest first; a later one replaces the earlier at other fees. Any of them may be the one that lands. */
  readonly versions: readonly SignedVersion[]
  /** Where its success was mined when something came of it, and where it is watched; null until then. */
  readonly landing: Landing | null
}

/** A row of nonces of its own, and a place in it (Tempo). Nothing stands before it that could keep it waiting. */
export type KeyedPlace = { readonly nonceKey: Hex; readonly nonce: number }

export type SignedVersion = {
  readonly raw: Hex
  readonly hash: Hash
  readonly fees: Fees
}

export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

export type Landing = { readonly hash: Hash; readonly blockNumber: bigint; readonly blockHash: Hash }

/** The success of a step of an order: whose transaction it was, and where it was mined. */
export type LandedStep = Pick<Send, 'chainId' | 'signer' | 'step'> & Landing

/** The steps of an order that move its money, or give it up. The store asks the same question. */
export const NOT_A_DELIVERY = /^(settle|refund|close)$/

/** Payment and refund have rules of their own; all else that is sent for an order delivers it. */
export function isDeliveryStep(step: string): boolean {
  return !NOT_A_DELIVERY.test(step)
}

/** A key of ours on one chain, and what it is for: `treasury`, `minter` and so on. */
export type RoleKey = Pick<Send, 'chainId' | 'signer'> & { readonly role: string }

/** A key that is or was ours, and how many transactions of it are accounted for; null: it was not counted since it became ours, or since a restore. */
export type KnownKey = Pick<Send, 'chainId' | 'signer'> & { readonly known: number | null }

/** How many transactions of a key the chain has counted, and whether these are more than are accounted for. */
export type KeyCount = Pick<Send, 'chainId' | 'signer'> & { readonly counted: number; readonly isBeyond: boolean }

/** Why a send was not written down: its step has one that the caller has not seen, or its nonce has another use. */
type Obstacle = { readonly kind: 'step_taken' } | { readonly kind: 'nonce_taken'; readonly lastNonce: number | null }

/**
 * Where signed bytes are written before they leave the process. `outbox/` uses it, `store/sends/journal.ts` implements it.
 * What leads to a signature is written only under the lease; otherwise `LeaseLost` is thrown.
 */
export type Journal = {
  /** The same send as it is written down now. */
  at(place: Pick<Send, 'chainId' | 'signer' | 'nonce' | 'nonceKey'>): Promise<Send | null>
  /** Everything that was ever signed for an order, by any key on any chain, oldest first. */
  ofOrder(orderId: string): Promise<readonly Send[]>
  /** Every key that was ever ours in a role on a chain. */
  keysInRole(chainId: number, role: string): Promise<readonly Address[]>
  /** The nonces of a key that are written down, from one on. */
  taken(chainId: number, signer: Address, from: number): Promise<readonly number[]>
  /** Writes it down, and returns null; otherwise what stood in the way. `seen`: so many the step has already. Throws when the order was given up. */
  record(lease: Lease, send: Send, seen: number): Promise<Obstacle | null>
  /** Adds a newer version of the same nonce, and the call that it is for; false when another process added one first. */
  addVersion(lease: Lease, send: Send, version: SignedVersion): Promise<boolean>
  /** What may still be missing from the chain: the first sends of this key from a nonce up to, but without, another. */
  between(chainId: number, signer: Address, from: number, before: number): Promise<readonly Send[]>
  /** It was mined and reverted, and has cost so much gas for nothing. */
  fail(send: Pick<Send, 'chainId' | 'signer' | 'nonce' | 'nonceKey'>, gasUsed: bigint): Promise<void>
  /** The success of a step was seen and used: from now on it is watched. */
  land(orderId: string, landed: LandedStep): Promise<void>
}

/** A delivery or refund that an order counts on, and that the chain did not show at the last look. */
export type MissingSend = {
  readonly kind: 'delivery_missing' | 'refund_missing'
  /** The order, or the transfer that went back. */
  readonly orderId: string
  readonly transaction: Hash
  readonly amount: bigint
  /** What was done about it. */
  readonly detail: string
}
