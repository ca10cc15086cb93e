import type { Address } from '../../base/address.ts'
import type { Usd } from '../../base/money.ts'
import type { ProblemCode } from '../../base/problem.ts'
import type { Lease } from '../../domain/lease.ts'

/** Somebody who plays. The id never changes; the nickname may. */
export type Player = {
  readonly playerId: string
  readonly nickname: string
  readonly level: number
  readonly wallets: readonly Address[]
}

export type PlayerKey = { readonly kind: 'nickname' | 'address' | 'playerId'; readonly value: string }

export type Item = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly listPrice: Usd
  /** Counted in one moment: what is left, and what was ever delivered to orders of this shop. Null: there is no end to it. */
  readonly stock: { readonly left: number; readonly delivered: number } | null
  readonly limitPerPlayer: number | null
  readonly picture: string | null
  /** Why nobody may buy it now; null when they may. */
  readonly notNow: string | null
}

/** An item as one player may buy it. */
export type PersonalOffer = {
  readonly item: Item
  /** For one piece, after this player's discounts. */
  readonly price: Usd
  /** How many more this player may buy; null: as many as there are. */
  readonly limitLeft: number | null
  /** Why this player may not buy it at all; null when they may. */
  readonly refusal: string | null
}

export type GameDelivery = {
  /** The idempotency key: however often it is asked for, an order is delivered once. */
  readonly orderId: string
  readonly playerId: string
  readonly itemId: string
  readonly quantity: number
  readonly paidAt: number
  /** After this moment nothing new is begun; only what was begun is followed to its end. */
  readonly deadline: number
  /** How often it was tried before. */
  readonly attempts: number
  /** The right to work on the order: without it nothing is begun. */
  readonly lease: Lease
}

export type Grant =
  /** `reference` is the game's own name for what it did. */
  | { readonly state: 'delivered'; readonly reference: string; readonly deliveredAt: number }
  | { readonly state: 'pending'; readonly detail: string; readonly retryAfterMs: number }
  /** Proof that it was not delivered and will not be. `byBuyer`: the game itself says no to this player, whom the buyer named. */
  | { readonly state: 'refused'; readonly code: ProblemCode; readonly detail: string; readonly byBuyer?: true }

/**
 * The game, as the shop needs it: embedded in our own store, or a studio's own service. All but `deliver` only read; when the game cannot
 * be asked they throw `game_unavailable`.
 */
export type GameBackend = {
  /** Is the game able to deliver? Asked before money moves. */
  assertReady(): Promise<void>
  items(): Promise<readonly Item[]>
  findPlayer(key: PlayerKey): Promise<Player | null>
  /** Every item of the shelf, or the named one only. */
  offersFor(playerId: string, itemId: string | null): Promise<readonly PersonalOffer[]>
  /** To whom it was delivered under this order, where the game can say that it was; null otherwise. */
  recall?(orderId: string): Promise<{ readonly playerId: string } | null>
  /** Runs at least once per order. A throw means that nobody knows; it is then called again. */
  deliver(delivery: GameDelivery): Promise<Grant>
}
