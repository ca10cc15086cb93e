import * as z from 'zod'
import type { Checkout } from '../checkout/checkout.ts'
import type { Surface } from '../domain/good.ts'
import type { RailName } from '../domain/rail.ts'
import type { Desk } from './desk.ts'
import { bazaarOf } from './documents/bazaar.ts'
import { paymentSchema, paymentStatus, STATUS_ANSWERS } from './purchases.ts'
import { free, type Route } from './route.ts'
import { catalogRows } from './rows/catalog.ts'
import { type CraftCounter, craftRows, craftStatusRow } from './rows/craft.ts'
import { type GatewayCounter, gatewayRows } from './rows/gateway.ts'
import { type SaleCounter, saleRows, saleStatusRow } from './rows/sale.ts'
import { type ShopCounter, shopRows, shopStatusRow } from './rows/shop.ts'

/** What this shop sells; a surface that is not configured is null, and its routes do not exist. */
export type Counter = {
  readonly sale: SaleCounter | null
  readonly shop: ShopCounter
  readonly gateway: GatewayCounter
  readonly craft: CraftCounter | null
}

// Every address the service answers, once. The router, both OpenAPI documents, discovery, llms.txt and the MCP tools read this table.
export function routes(
  desk: Desk,
  { sale, shop, gateway, craft }: Counter,
  told: readonly Sold[] = [],
): readonly Route[] {
  const { checkout, rails } = desk
  const selling = [
    ...rails.flatMap((rail) => (sale ? saleRows(desk, sale, rail) : [])),
    ...rails.flatMap((rail) => shopRows(desk, shop, rail)),
    ...rails.flatMap((rail) => gatewayRows(gateway, rail)),
    ...rails.flatMap((rail) => (craft ? craftRows(desk, craft, rail) : [])),
  ].map((route) => (route.kind === 'paid' ? { ...route, discovery: bazaarOf(route) } : route))
  return [
    ...selling,
    ...told.flatMap((sold) => statusRows(checkout, sold)),
    ...catalogRows(desk, { sale, shop }, selling),
    free('GET /payments/{reference}', {
      host: 'both',
      summary: 'Find out what became of a payment',
      params: z.strictObject({ reference: z.string().min(1).max(128) }),
      result: paymentSchema,
      statuses: STATUS_ANSWERS,
      handle: ({ params }) => paymentStatus(checkout, params.reference),
    }),
  ]
}

/** What was sold once, and is told though nothing of it is sold any more. */
export type Sold = { readonly surface: Surface; readonly rail: RailName }

function statusRows(checkout: Checkout, { surface, rail }: Sold): readonly Route[] {
  switch (surface) {
    case 'sale':
      return [saleStatusRow(checkout, rail)]
    case 'shop':
      return [shopStatusRow(checkout, rail, true)]
    case 'craft':
      return [craftStatusRow(checkout, rail)]
    case 'gateway':
      // It is told where all payments are.
      return []
  }
}
