import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { labelsOf, type Offer } from '../../domain/offer.ts'
import { asQuery } from '../../domain/query.ts'
import { quote, quoteSchema } from '../../domain/quote.ts'
import type { RailName } from '../../domain/rail.ts'
import { exactlyOneRecipient, type RecipientKind } from '../../domain/recipient.ts'
import { free, paid, type Route, referenceParams, STATUS_ANSWERS } from '../../domain/route.ts'
import type { RowContext } from '../surface.ts'
import { playerLookupSchema, playerLookupStatusSchema } from './lookup.ts'
import { recipientKinds, type ShopBuy, type shopBuyFields } from './schema.ts'
import { toolTexts } from './tools.ts'
import { shopPurchaseSchema, shopStatusSchema } from './view.ts'

export type ShopCounter = {
  readonly offers: ReadonlyMap<RailName, Offer<ShopBuy>>
  /** Only where a request may name its payer. */
  readonly lookup: ReadonlyMap<RailName, Offer<JsonObject>>
  readonly fields: (kinds: readonly RecipientKind[]) => ReturnType<typeof shopBuyFields>
  readonly example: JsonObject
}

export function shopRows(context: RowContext, shop: ShopCounter, rail: RailName): readonly Route[] {
  const offer = shop.offers.get(rail)
  if (!offer) return []
  const lookup = shop.lookup.get(rail)
  const kinds = recipientKinds(offer.rail)
  const fields = shop.fields(kinds)
  const body: z.ZodType<ShopBuy> = exactlyOneRecipient(fields, kinds)
  const buyUrl = context.urlOf(rail, `/shop/${rail}/buy`)
  const quoted = {
    surface: 'shop',
    host: context.hostOf(rail),
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
      idField: 'itemId',
      tools: [toolTexts.buyShopItem(labelsOf(shop.lookup))],
      summary: 'Buy game items for a player',
      description: `Pays for an item at the player's own price and delivers it to the player. The recipient is exactly one of ${kinds.join(', ')}.`,
    }),
    ...(lookup ? [lookupRow(shop, lookup, rail)] : []),
    free(`GET /shop/${rail}/quote`, {
      ...quoted,
      query: exactlyOneRecipient(asQuery(fields), kinds),
      handle: ({ query }) => quote(offer, query, buyUrl),
    }),
    free(`POST /shop/${rail}/quote`, {
      ...quoted,
      tools: [toolTexts.quoteShopItem],
      body,
      handle: ({ body }) => quote(offer, body, buyUrl),
    }),
    shopStatusRow(context, rail, lookup !== undefined),
  ]
}

function lookupRow(shop: ShopCounter, offer: Offer<JsonObject>, rail: RailName): Route {
  return paid(`POST /shop/${rail}/player-lookup`, {
    surface: 'shop',
    offer,
    body: null,
    example: {},
    result: playerLookupSchema,
    tools: [toolTexts.lookupPlayer(labelsOf(shop.lookup))],
    summary: 'Look up the player linked to the paying wallet',
    description:
      'Returns the player linked to the verified sender of the payment. A payer without a player is not charged.',
  })
}

/** Also where the shop sells none any more: what was sold is still told. */
export function shopStatusRow(context: RowContext, rail: RailName, hasLookup: boolean): Route {
  return free(`GET /shop/${rail}/purchases/{paymentTx}`, {
    surface: 'shop',
    host: context.hostOf(rail),
    summary: 'Status of a purchase of game items',
    params: referenceParams,
    statuses: STATUS_ANSWERS,
    result: hasLookup ? z.union([shopStatusSchema, playerLookupStatusSchema]) : shopStatusSchema,
    handle: ({ params }) => context.purchaseStatus('shop', rail, params.paymentTx),
  })
}
