import type { JsonObject } from '../../base/json.ts'
import type { Offer } from '../../domain/offer.ts'
import { asQuery } from '../../domain/query.ts'
import { quote, quoteSchema } from '../../domain/quote.ts'
import type { RailName } from '../../domain/rail.ts'
import { free, paid, type Route, referenceParams, STATUS_ANSWERS } from '../../domain/route.ts'
import type { RowContext } from '../surface.ts'
import type { SaleBuy, saleBuySchema } from './schema.ts'
import { toolTexts } from './tools.ts'
import { salePurchaseSchema, saleStatusSchema } from './view.ts'

export type SaleCounter = {
  readonly offers: ReadonlyMap<RailName, Offer<SaleBuy>>
  readonly schema: ReturnType<typeof saleBuySchema>
  readonly example: JsonObject
}

export function saleRows(context: RowContext, sale: SaleCounter, rail: RailName): readonly Route[] {
  const offer = sale.offers.get(rail)
  if (!offer) return []
  const buyUrl = context.urlOf(rail, `/agentic/${rail}/buy`)
  const quoted = {
    surface: 'sale',
    host: context.hostOf(rail),
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
      idField: 'saleId',
      tools: [toolTexts.buySaleLot],
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
      tools: [toolTexts.quoteSaleLot],
      body: sale.schema,
      handle: ({ body }) => quote(offer, body, buyUrl),
    }),
    saleStatusRow(context, rail),
  ]
}

/** Also where the shop sells none any more: what was sold is still told. */
export function saleStatusRow(context: RowContext, rail: RailName): Route {
  return free(`GET /agentic/${rail}/purchases/{paymentTx}`, {
    surface: 'sale',
    host: context.hostOf(rail),
    summary: 'Status of a purchase of NFTs',
    params: referenceParams,
    statuses: STATUS_ANSWERS,
    result: saleStatusSchema,
    handle: ({ params }) => context.purchaseStatus('sale', rail, params.paymentTx),
  })
}
