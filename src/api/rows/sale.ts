import type { JsonObject } from '../../base/json.ts'
import type { Checkout } from '../../checkout/checkout.ts'
import type { Shelf } from '../../domain/catalog.ts'
import type { Offer } from '../../domain/offer.ts'
import type { RailName } from '../../domain/rail.ts'
import type { SaleBuy, saleBuySchema } from '../../surfaces/sale/schema.ts'
import { salePurchaseSchema, saleStatusSchema } from '../../surfaces/sale/view.ts'
import type { Desk } from '../desk.ts'
import { faces } from '../mcp/faces.ts'
import { asQuery } from '../parse.ts'
import { purchaseStatus, referenceParams, STATUS_ANSWERS } from '../purchases.ts'
import { quote, quoteSchema } from '../quote.ts'
import { free, paid, type Route } from '../route.ts'

export type SaleCounter = {
  readonly offers: ReadonlyMap<RailName, Offer<SaleBuy>>
  readonly schema: ReturnType<typeof saleBuySchema>
  readonly shelf: Shelf
  readonly example: JsonObject
}

export function saleRows({ checkout, urlOf }: Desk, sale: SaleCounter, rail: RailName): readonly Route[] {
  const offer = sale.offers.get(rail)
  if (!offer) return []
  const buyUrl = urlOf(rail, `/agentic/${rail}/buy`)
  const quoted = {
    surface: 'sale',
    host: rail,
    summary: 'Check a purchase of NFTs before paying',
    bucket: 'quote',
    example: sale.example,
    result: quoteSchema,
  } as const
  return [
    paid(`POST /agentic/${rail}/buy`, {
      surface: 'sale',
      offer,
      body: sale.schema,
      example: sale.example,
      result: salePurchaseSchema,
      hasPriceProbe: true,
      tools: [faces.buySaleLot],
      summary: 'Buy NFTs from a sale lot',
      description: 'Pays for a sale lot and mints its NFTs to the beneficiary.',
    }),
    free(`GET /agentic/${rail}/quote`, {
      ...quoted,
      query: asQuery(sale.schema),
      handle: ({ query }) => quote(offer, query, buyUrl),
    }),
    free(`POST /agentic/${rail}/quote`, {
      ...quoted,
      tools: [faces.quoteSaleLot],
      body: sale.schema,
      handle: ({ body }) => quote(offer, body, buyUrl),
    }),
    saleStatusRow(checkout, rail),
  ]
}

/** Also where the shop sells none any more: what was sold is still told. */
export function saleStatusRow(checkout: Checkout, rail: RailName): Route {
  return free(`GET /agentic/${rail}/purchases/{paymentTx}`, {
    surface: 'sale',
    host: rail,
    summary: 'Status of a purchase of NFTs',
    params: referenceParams,
    statuses: STATUS_ANSWERS,
    result: saleStatusSchema,
    handle: ({ params }) => purchaseStatus(checkout, 'sale', rail, params.paymentTx),
  })
}
