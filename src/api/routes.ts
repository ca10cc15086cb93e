import * as z from 'zod'
import { once } from '../base/once.ts'
import type { SurfaceName } from '../domain/good.ts'
import type { RailName } from '../domain/rail.ts'
import { free, type Route, STATUS_ANSWERS } from '../domain/route.ts'
import { bazaarOf } from './documents/bazaar.ts'
import { catalogRows } from './shop/catalog-rows.ts'
import { paymentSchema, paymentStatus } from './shop/purchase-status.ts'
import type { ShopContext } from './shop/shop-context.ts'

/** What was sold once, and is told though nothing of it is sold any more. */
export type Sold = { readonly surface: SurfaceName; readonly rail: RailName }

// Every address the service answers, once. The router, both OpenAPI documents, discovery, llms.txt and the MCP tools read this table.
export function routes(context: ShopContext, told: readonly Sold[] = []): readonly Route[] {
  const { checkout, surfaces, open, mainHost, rails, hostOf } = context
  const hosts = ['both', mainHost, ...rails.map(({ name }) => hostOf(name))]
  const selling = surfaces
    .flatMap(({ name }) => {
      const surface = open.get(name)
      return surface?.rails.flatMap((rail) => surface.rows(context, rail)) ?? []
    })
    .map((route) => {
      if (!hosts.includes(route.host))
        throw new TypeError(`${route.path} is at ${route.host}, which is no host of ours`)
      return route.kind === 'paid' ? { ...route, discovery: once(() => bazaarOf(route)) } : route
    })
  return [
    ...selling,
    ...told.flatMap(
      ({ surface, rail }) => surfaces.find(({ name }) => name === surface)?.statusRow(context, rail) ?? [],
    ),
    ...catalogRows(context, selling),
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
