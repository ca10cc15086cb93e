import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import type { Checkout } from '../../checkout/checkout.ts'
import type { Shelf } from '../../domain/catalog.ts'
import type { Offer } from '../../domain/offer.ts'
import type { RailName } from '../../domain/rail.ts'
import { playerLookupSchema, playerLookupStatusSchema } from '../../surfaces/shop/lookup.ts'
import {
  exactlyOneRecipient,
  type listingFields,
  recipientKinds,
  type ShopBuy,
  type shopBuyFields,
} from '../../surfaces/shop/schema.ts'
import { shopPurchaseSchema, shopStatusSchema } from '../../surfaces/shop/view.ts'
import type { Desk } from '../desk.ts'
import { faces } from '../mcp/faces.ts'
import { asQuery } from '../parse.ts'
import { purchaseStatus, referenceParams, STATUS_ANSWERS } from '../purchases.ts'
import { quote, quoteSchema } from '../quote.ts'
import { free, paid, type Route } from '../route.ts'

export type ShopCounter = {
  readonly offers: ReadonlyMap<RailName, Offer<ShopBuy>>
  /** Only MPP has it: there the payer is proven by the payment itself. */
  readonly lookup: ReadonlyMap<RailName, Offer<JsonObject>>
  readonly fields: (rail: RailName) => ReturnType<typeof shopBuyFields>
  readonly listingFields: ReturnType<typeof listingFields>
  readonly shelf: Shelf
  readonly example: JsonObject
}

export function shopRows({ checkout, urlOf }: Desk, shop: ShopCounter, rail: RailName): readonly Route[] {
  const offer = shop.offers.get(rail)
  if (!offer) return []
  const lookup = shop.lookup.get(rail)
  const fields = shop.fields(rail)
  const body: z.ZodType<ShopBuy> = exactlyOneRecipient(fields, recipientKinds(rail))
  const buyUrl = urlOf(rail, `/shop/${rail}/buy`)
  const quoted = {
    surface: 'shop',
    host: rail,
    summary: 'Check a purchase of game items before paying',
    bucket: 'quote',
    example: shop.example,
    result: quoteSchema,
  } as const
  return [
    paid(`POST /shop/${rail}/buy`, {
      surface: 'shop',
      offer,
      body,
      example: shop.example,
      result: shopPurchaseSchema,
      hasPriceProbe: true,
      tools: [faces.buyShopItem],
      summary: 'Buy game items for a player',
      description: `Pays for an item at the player's own price and delivers it to the player. The recipient is exactly one of ${recipientKinds(rail).join(', ')}.`,
    }),
    ...(lookup ? [lookupRow(lookup, rail)] : []),
    free(`GET /shop/${rail}/quote`, {
      ...quoted,
      query: exactlyOneRecipient(asQuery(fields), recipientKinds(rail)),
      handle: ({ query }) => quote(offer, query, buyUrl),
    }),
    free(`POST /shop/${rail}/quote`, {
      ...quoted,
      tools: [faces.quoteShopItem],
      body,
      handle: ({ body }) => quote(offer, body, buyUrl),
    }),
    shopStatusRow(checkout, rail, lookup !== undefined),
  ]
}

function lookupRow(offer: Offer<JsonObject>, rail: RailName): Route {
  return paid(`POST /shop/${rail}/player-lookup`, {
    surface: 'shop',
    offer,
    body: null,
    example: {},
    result: playerLookupSchema,
    tools: [faces.lookupPlayer],
    summary: 'Look up the player linked to the paying wallet',
    description:
      'Returns the player linked to the verified sender of the payment. A payer without a player is not charged.',
  })
}

/** Also where the shop sells none any more: what was sold is still told. */
export function shopStatusRow(checkout: Checkout, rail: RailName, hasLookup: boolean): Route {
  return free(`GET /shop/${rail}/purchases/{paymentTx}`, {
    surface: 'shop',
    host: rail,
    summary: 'Status of a purchase of game items',
    params: referenceParams,
    statuses: STATUS_ANSWERS,
    result: hasLookup ? z.union([shopStatusSchema, playerLookupStatusSchema]) : shopStatusSchema,
    handle: ({ params }) => purchaseStatus(checkout, 'shop', rail, params.paymentTx),
  })
}
