import type { RailName } from '../../domain/rail.ts'
import { atMostOneRecipient, listingFields, recipientOf } from '../../domain/recipient.ts'
import { free, type Host, type Route } from '../../domain/route.ts'
import { catalogSchema, createCatalog, LISTING_SECONDS, offersSchema, type Stall } from './catalog.ts'
import type { Desk } from './row-context.ts'

export function catalogRows(desk: Desk, selling: readonly Route[]): readonly Route[] {
  const stalls = desk.surfaces.flatMap(({ name }): readonly Stall[] => {
    const surface = desk.open.get(name)
    return surface?.shelf ? [{ shelf: surface.shelf, rails: surface.rails }] : []
  })
  const catalog = createCatalog(desk, stalls, selling)
  const query = atMostOneRecipient(listingFields(desk.limits))
  const listing = { query, statuses: [404], cache: { maxAgeSeconds: LISTING_SECONDS } } as const
  const offersResult = offersSchema(desk.surfaces)

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
      result: catalogSchema(desk.surfaces),
      handle: ({ query, host }) => catalog.whole(host, recipientOf(query)),
    }),
    ...stalls.flatMap((stall) => {
      const { rails, shelf } = stall
      const { path, alias } = shelf.listing
      const [first] = rails
      const ownRail = (host: Host): RailName => (host === 'both' ? first! : host)
      return [
        ...rails.map((rail) => offers(stall, path(rail), rail, () => rail)),
        ...(alias && first ? [offers(stall, alias, 'both', ownRail)] : []),
      ]
    }),
  ]
}
