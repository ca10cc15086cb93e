import { type Address, sameAddress } from '../../base/address.ts'
import { isoTime } from '../../base/clock.ts'
import { rangeOf, times } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import type { Recipient } from '../../domain/catalog.ts'
import type { Finding, Good, Hold, LivePrice } from '../../domain/good.ts'
import { recipientOf } from '../../domain/recipient.ts'
import { limitResource } from '../../store/game/items.ts'
import type { HoldReader } from '../../store/orders/holds.ts'
import type { PayerProblem } from '../surface.ts'
import type { GameBackend, Item, PersonalOffer } from './game.ts'
import { findRecipient, recipientMissing } from './recipient.ts'
import type { ShopBuy } from './schema.ts'

type ShopItemOptions = {
  readonly game: GameBackend
  readonly holds: HoldReader
  /** How long delivery is tried before the money goes back. */
  readonly gameMs: number
  /** What speaks against this payer, whatever they buy. */
  readonly payerProblem: (payer: Address) => PayerProblem
}

/** An item of the game for a player. The player is found before money moves, and from then on known by id: a rename changes nothing. */
export function shopItem({ game, holds, gameMs, payerProblem }: ShopItemOptions): Good<ShopBuy> {
  return {
    name: 'shopItem',
    surface: 'shop',
    subject: 'order',

    async check(input, payer) {
      const recipient = namedRecipient(input)
      const [player] = await Promise.all([findRecipient(game, recipient), game.assertReady()])
      const findings: Finding[] = [
        { check: 'payer', problem: payer && ((await payerProblem(payer)) ?? senderProblem(recipient, payer)) },
        { check: 'recipient', problem: player ? null : recipientMissing(recipient) },
      ]
      if (!player) return { findings, plan: {}, holds: [] }
      const { playerId } = player
      // The version first: a purchase of the same player that ends while the limit is read makes the reading stale.
      const limit = limitResource(input.itemId, playerId)
      const versions = await holds.versions([limit])
      const [offer] = await game.offersFor(playerId, input.itemId)
      const problem = offerProblem(offer, input)
      findings.push({ check: 'item', problem })
      if (!offer || problem) return { findings, plan: {}, holds: [] }
      const taken = [stockHold(offer, input), limitHold(offer, input, limit, versions.get(limit))]
      return { findings, plan: { playerId }, holds: taken.filter((hold) => hold !== null) }
    },

    async recall(input, orderId) {
      const given = (await game.recall?.(orderId)) ?? null
      const player = given && (await findRecipient(game, namedRecipient(input)))
      return player?.playerId === given?.playerId ? given : null
    },

    async deliver({ itemId, quantity }, plan, { orderId, settledAt, attempts, lease }) {
      const { playerId } = plan
      if (typeof playerId !== 'string') throw new TypeError(`order ${orderId} has no player in its plan`)
      const terms = { paidAt: settledAt, deadline: settledAt + gameMs, attempts, lease }
      const grant = await game.deliver({ orderId, playerId, itemId, quantity, ...terms })
      switch (grant.state) {
        case 'delivered': {
          const { reference, deliveredAt } = grant
          return { state: 'delivered', result: { reference, deliveredAt: isoTime(deliveredAt) } }
        }
        case 'refused':
          return { ...grant, state: 'impossible' }
        case 'pending':
          return grant
      }
    },
  }
}

/** This player's own price. An item that is gone, or not for this player, has none: nobody should pay for it. */
export function shopPrice(game: GameBackend): LivePrice<ShopBuy> {
  return {
    kind: 'live',
    async of(input) {
      const recipient = namedRecipient(input)
      const player = await findRecipient(game, recipient)
      if (!player) throw recipientMissing(recipient)
      const [offer] = await game.offersFor(player.playerId, input.itemId)
      const problem = offerProblem(offer, input)
      if (!offer || problem) throw problem
      return times(offer.price, input.quantity)
    },
    async range() {
      const onShelf = (await game.items()).filter(isOnShelf)
      return rangeOf(onShelf.map(({ listPrice }) => listPrice))
    },
  }
}

export function isOnShelf({ stock, notNow }: Item): boolean {
  return notNow === null && (stock === null || stock.left > 0)
}

function namedRecipient(input: ShopBuy): Recipient {
  const recipient = recipientOf(input)
  if (!recipient) throw new TypeError('a purchase without a recipient passed the schema')
  return recipient
}

/** Whoever names the payer as recipient must be that payer; whoever they are is known only from the payment. */
function senderProblem({ kind, value }: Recipient, payer: Address): Problem | null {
  return kind === 'payer' && !sameAddress(value, payer)
    ? new Problem('payer_mismatch', 'The payer in the request is not the sender of the payment; nothing was taken.')
    : null
}

function offerProblem(offer: PersonalOffer | undefined, { itemId, quantity }: ShopBuy): Problem | null {
  if (!offer) return new Problem('item_not_found', `There is no item ${itemId}; read /catalog for those on offer.`)
  const { item, limitLeft, refusal } = offer
  if (item.notNow !== null)
    return new Problem('item_unavailable', `Item ${itemId} is not on sale now. ${item.notNow} Nothing was taken.`)
  if (refusal !== null)
    return new Problem('item_unavailable', `This player cannot buy ${itemId}: ${refusal} Nothing was taken.`)
  if (item.stock !== null && item.stock.left < quantity) return outOfStock(item.id, item.stock.left)
  return limitLeft !== null && limitLeft < quantity ? limitReached(item.id, limitLeft) : null
}

function outOfStock(itemId: string, left: number): Problem {
  return new Problem('item_unavailable', `Item ${itemId} is out of stock (${left} left); nothing was taken.`)
}

function limitReached(itemId: string, left: number): Problem {
  return new Problem('purchase_limit', `This player may buy ${left} more of ${itemId}; nothing was taken.`)
}

/** What is left and what was delivered add up to the supply, whatever is on its way; our holds count both, and are kept for ever. */
function stockHold({ item }: PersonalOffer, { quantity }: ShopBuy): Hold | null {
  if (item.stock === null) return null
  const { left, delivered } = item.stock
  return {
    resource: `stock:${item.id}`,
    quantity: BigInt(quantity),
    limit: BigInt(left + delivered),
    used: BigInt(delivered),
    keptWhenDelivered: true,
    refusal: refusalOf(outOfStock(item.id, 0)),
  }
}

/** Not kept: a limit may be counted anew each week, and only the game knows. Its own reading counts what was delivered. */
function limitHold(
  { item, limitLeft }: PersonalOffer,
  { quantity }: ShopBuy,
  resource: string,
  seenVersion: bigint | undefined,
): Hold | null {
  if (limitLeft === null) return null
  const refusal = refusalOf(limitReached(item.id, 0))
  return { resource, quantity: BigInt(quantity), limit: BigInt(limitLeft), seenVersion, refusal }
}

function refusalOf({ code, message }: Problem): Hold['refusal'] {
  return { code, detail: message }
}
