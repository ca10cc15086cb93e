import * as z from 'zod'
import type { Desk } from './desk.ts'
import { paymentSchema, paymentStatus } from './purchases.ts'
import { free, type Route } from './route.ts'
import { type SaleCounter, saleRows } from './rows/sale.ts'

/** What this shop sells; a surface that is not configured is null, and its routes do not exist. */
export type Counter = { readonly sale: SaleCounter | null }

// Every address the service answers, once. The router, both OpenAPI documents, discovery, llms.txt and the MCP tools read this table.
export function routes(desk: Desk, { sale }: Counter): readonly Route[] {
  const { checkout, rails } = desk
  return [
    ...rails.flatMap((rail) => (sale ? saleRows(desk, sale, rail) : [])),
    free('GET /payments/{reference}', {
      host: 'both',
      summary: 'Find out what became of a payment',
      params: z.strictObject({ reference: z.string().min(1).max(128) }),
      result: paymentSchema,
      handle: ({ params }) => paymentStatus(checkout, params.reference),
    }),
  ]
}
