import { type Clock, isoTime } from '../../base/clock.ts'
import { discounted } from '../../base/money.ts'
import type { Waypoint } from '../../base/waypoint.ts'
import type { GrantRow, ItemRow, Items, PersonalRow } from '../../store/game/items.ts'
import type { Players, Rehearsal } from '../../store/game/players.ts'
import type { GameBackend, GameDelivery, Grant, Item, PersonalOffer } from './game.ts'

type EmbeddedGameOptions = {
  readonly players: Players
  readonly items: Items
  readonly clock: Clock
  readonly waypoint: Waypoint
  /** How late a delivery to a test player that rehearses delays is: later than any request waits. */
  readonly rehearsedDelayMs: number
}

/** How often a delivery to a test player that rehearses stumbling fails before it succeeds. */
const STUMBLES = 2

/** The game in our own store: a delivery is one row of the ledger, whose key is the order id. */
export function embeddedGame({ players, items, clock, waypoint, rehearsedDelayMs }: EmbeddedGameOptions): GameBackend {
  /** Null when there is nothing to rehearse, or the rehearsal is over. */
  function rehearse(rehearsal: Rehearsal | null, { paidAt, attempts }: GameDelivery): Grant | null {
    switch (rehearsal) {
      case 'refusal':
        return { state: 'refused', code: 'fulfilment_failed', detail: 'The game refused the delivery.' }
      case 'delay': {
        const wait = paidAt + rehearsedDelayMs - clock.now()
        return wait > 0 ? { state: 'pending', detail: 'The game takes its time.', retryAfterMs: wait } : null
      }
      case 'stumble':
        if (attempts < STUMBLES) throw new Error('the game stumbled, as this test player asks for')
        return null
      case null:
        return null
    }
  }

  return {
    // The store was asked for the player a moment before; when it answers, the game can deliver.
    async assertReady() {},

    async items() {
      return (await items.list()).map((row) => itemOf(row, clock.now()))
    },

    async findPlayer({ kind, value }) {
      const row = await players.find(kind, value)
      return row && { playerId: row.playerId, nickname: row.nickname, level: row.level, wallets: row.wallets }
    },

    async offersFor(playerId, itemId) {
      return (await items.forPlayer(playerId, itemId)).map((row) => offerOf(row, clock.now()))
    },

    async deliver(delivery) {
      const { orderId, playerId, itemId, quantity, deadline, lease } = delivery
      if (clock.now() >= deadline) return granted(await items.granted(orderId), OUT_OF_TIME)
      const player = await players.find('playerId', playerId)
      const rehearsed = rehearse(player?.rehearses ?? null, delivery)
      if (rehearsed) return rehearsed
      await waypoint('game.called')
      const grant = await items.grant(lease, { orderId, playerId, itemId, quantity })
      await waypoint('game.answered')
      return granted(grant, OUT_OF_STOCK)
    },
  }
}

const OUT_OF_TIME: Grant = {
  state: 'refused',
  code: 'fulfilment_failed',
  detail: 'The game could not deliver in time.',
}
const OUT_OF_STOCK: Grant = {
  state: 'refused',
  code: 'item_unavailable',
  detail: 'The stock was taken back before the delivery.',
}

function granted(grant: GrantRow | null, otherwise: Grant): Grant {
  if (!grant) return otherwise
  return { state: 'delivered', reference: `ledger:${grant.orderId}`, deliveredAt: grant.grantedAt }
}

function itemOf(row: ItemRow, nowMs: number): Item {
  const { id, name, description, price, stock, limitPerPlayer, picture } = row
  return { id, name, description, listPrice: price, stock, limitPerPlayer, picture, notNow: notNow(row, nowMs) }
}

function notNow({ opensAt, closesAt }: ItemRow, nowMs: number): string | null {
  if (opensAt !== null && nowMs < opensAt) return `It is sold from ${isoTime(opensAt)} on.`
  return closesAt !== null && nowMs >= closesAt ? `It was sold until ${isoTime(closesAt)}.` : null
}

function offerOf({ item, level, discountPoints, limitLeft }: PersonalRow, nowMs: number): PersonalOffer {
  return {
    item: itemOf(item, nowMs),
    price: discounted(item.price, discountPoints),
    limitLeft,
    refusal: level < item.levelMin ? `It needs level ${item.levelMin}.` : null,
  }
}
