import * as z from 'zod'
import type { RailName } from '../../domain/rail.ts'
import { atMostOneRecipient, listingFields, recipientOf } from '../../domain/recipient.ts'
import { free, type Host, type Route } from '../../domain/route.ts'
import { catalogSchema, createCatalog, itemSchema, LISTING_SECONDS, offersSchema, type Stall } from './catalog.ts'
import type { ShopContext } from './shop-context.ts'

export function catalogRows(context: ShopContext, selling: readonly Route[]): readonly Route[] {
  const stalls = context.surfaces.flatMap(({ name }): readonly Stall[] => {
    const surface = context.open.get(name)
    return surface?.shelf ? [{ shelf: surface.shelf, rails: surface.rails }] : []
  })
  const catalog = createCatalog(context, stalls, selling)
  const query = atMostOneRecipient(listingFields(context.limits))
  const listing = { query, statuses: [404], cache: { maxAgeSeconds: LISTING_SECONDS } } as const
  const offersResult = offersSchema(context.surfaces)

  const offers = ({ shelf }: Stall, path: `/${string}`, host: Host, railAt: (host: Host) => RailName) =>
    free(`GET ${path}`, {
      ...listing,
      surface: shelf.surface,
      host,
      summary: shelf.listing.summary,
      description: 'Anonymous, or with the prices of one player when exactly one recipient is named.',
      result: offersResult,
      handle: ({ query, host }) => catalog.offers(shelf.surface, railAt(host), recipientOf(query)),
    })

  return [
    free('GET /catalog', {
      ...listing,
      host: 'both',
      summary: 'Everything on sale, with prices',
      description:
        'The discovery catalog. Anonymous, or with the prices of one player when exactly one recipient is named.',
      result: catalogSchema(context.surfaces),
      handle: ({ query, host }) => catalog.whole(host, recipientOf(query)),
    }),
    free('GET /catalog/{catalogId}', {
      host: 'both',
      summary: 'One thing on sale',
      description: 'What it is, what it costs, and every way to buy it.',
      params: z.strictObject({
        catalogId: z.string().min(1).max(160).describe('As the catalog names it, such as sale:391'),
      }),
      result: itemSchema(context.surfaces),
      statuses: [404],
      cache: { maxAgeSeconds: LISTING_SECONDS },
      handle: ({ params, host }) => catalog.item(host, params.catalogId),
    }),
    ...stalls.flatMap((stall) => {
      const { rails, shelf } = stall
      const { path, alias } = shelf.listing
      const [first] = rails
      const ownRail = (host: Host): RailName => rails.find((rail) => context.hostOf(rail) === host) ?? first!
      return [
        ...rails.map((rail) => offers(stall, path(rail), context.hostOf(rail), () => rail)),
        ...(alias && first ? [offers(stall, alias, 'both', ownRail)] : []),
      ]
    }),
  ]
}
