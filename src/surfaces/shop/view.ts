import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import type { CatalogItem, Recipient, Shelf } from '../../domain/catalog.ts'
import { commonMembers, type PurchaseView, publicMembers } from '../../domain/offer.ts'
import type { OrderStatus } from '../../domain/order.ts'
import { publicFields, purchaseFields } from '../../domain/purchase-fields.ts'
import { recipientOf } from '../../domain/recipient.ts'
import type { GameBackend, Item, PersonalOffer } from './game.ts'
import { isOnShelf } from './item.ts'
import { findRecipient } from './recipient.ts'
import type { ShopBuy } from './schema.ts'

export const shopPurchaseSchema = z
  .object({
    ...purchaseFields,
    itemId: z.string(),
    quantity: z.int(),
    recipient: z.object({ kind: z.enum(['nickname', 'address', 'payer']), value: z.string() }),
    delivery: z.object({
      state: z.enum(['pending', 'delivered', 'failed']),
      reference: z.string().nullable().describe("The game's own name for the delivery"),
      deliveredAt: z.string().nullable(),
    }),
  })
  .meta({ id: 'ShopPurchase', description: 'A purchase of game items for a player' })

/** A payment transaction is public: asked by it, the status leaves out what only the buyer knows. The order id shows all. */
export const shopStatusSchema = shopPurchaseSchema
  .extend({ ...publicFields, recipient: shopPurchaseSchema.shape.recipient.optional() })
  .meta({ id: 'ShopPurchaseStatus', description: 'How far a purchase of game items is' })

export function presentItem(view: PurchaseView<ShopBuy>): JsonObject {
  return { ...commonMembers(view), ...boughtItem(view), recipient: recipientOf(view.input), delivery: deliveryOf(view) }
}

export function publishItem(view: PurchaseView<ShopBuy>): JsonObject {
  return { ...publicMembers(view), ...boughtItem(view), delivery: { ...deliveryOf(view), reference: null } }
}

function boughtItem({ input }: PurchaseView<ShopBuy>) {
  return { itemId: input.itemId, quantity: input.quantity }
}

const GIVEN_UP: readonly OrderStatus[] = ['failed', 'refunding', 'refunded', 'expired']

function deliveryOf({ status, result }: PurchaseView<ShopBuy>) {
  const undelivered = GIVEN_UP.includes(status) ? 'failed' : 'pending'
  return {
    state: result ? 'delivered' : undelivered,
    reference: result?.['reference'] ?? null,
    deliveredAt: result?.['deliveredAt'] ?? null,
  }
}

/** What the game has, for everybody or as one player sees it. */
export function shopShelf(game: GameBackend): Shelf {
  return {
    surface: 'shop',
    listing: {
      summary: 'Game items on sale',
      path: (rail) => `/shop/${rail}/offers`,
      alias: '/shop/api/shop/items',
    },
    isInEntry: () => true,
    isPersonal: true,
    async items(currency, recipient) {
      if (recipient === null) return (await game.items()).map((item) => listed(item, currency))
      return (await personalOffers(game, recipient)).map((offer) => personal(offer, currency))
    },
  }
}

/** Nobody has this id. Asking for its offers makes an unknown player take as long as a known one. */
const NOBODY = 'nobody'

async function personalOffers(game: GameBackend, recipient: Recipient): Promise<readonly PersonalOffer[]> {
  const player = await findRecipient(game, recipient)
  const offers = await game.offersFor(player?.playerId ?? NOBODY, null)
  if (!player) throw new Problem('recipient_not_found', `No player has this ${recipient.kind}.`)
  return offers
}

function listed(item: Item, currency: string): CatalogItem {
  const { id, name, description, listPrice, limitPerPlayer, picture } = item
  const price = { amount: formatUsd(listPrice), currency }
  const limit = limitPerPlayer === null ? {} : { limitPerPlayer }
  const seen = picture === null ? {} : { picture }
  return { id, displayName: name, description, price, available: isOnShelf(item), ...limit, ...seen }
}

function personal({ item, price, limitLeft, refusal }: PersonalOffer, currency: string): CatalogItem {
  const reason = item.notNow ?? refusal ?? (limitLeft === 0 ? 'The limit of this player is reached.' : null)
  return {
    ...listed(item, currency),
    price: { amount: formatUsd(price), currency },
    personal: { limitLeft, isEligible: reason === null, reason, listPrice: formatUsd(item.listPrice) },
  }
}
