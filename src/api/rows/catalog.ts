import type { Surface } from '../../domain/good.ts'
import type { RailName } from '../../domain/rail.ts'
import { atMostOneRecipient, recipientOf } from '../../surfaces/shop/schema.ts'
import { catalogSchema, createCatalog, LISTING_SECONDS, offersSchema } from '../catalog.ts'
import type { Desk } from '../desk.ts'
import { free, type Host, type Route } from '../route.ts'
import type { SaleCounter } from './sale.ts'
import type { ShopCounter } from './shop.ts'

type Stalls = { readonly sale: SaleCounter | null; readonly shop: ShopCounter }

export function catalogRows(desk: Desk, { sale, shop }: Stalls, selling: readonly Route[]): readonly Route[] {
  const catalog = createCatalog(desk, sale ? [sale, shop] : [shop], selling)
  const query = atMostOneRecipient(shop.listingFields)
  const listing = { query, statuses: [404], cache: { maxAgeSeconds: LISTING_SECONDS } } as const

  const offers = (surface: Surface, path: `/${string}`, host: Host, railAt: (host: Host) => RailName) =>
    free(`GET ${path}`, {
      ...listing,
      surface,
      host,
      summary: surface === 'sale' ? 'NFT lots on sale' : 'Game items on sale',
      description: 'Anonymous, or with the prices of one player when exactly one recipient is named.',
      result: offersSchema,
      handle: ({ query, host }) => catalog.offers(surface, railAt(host), recipientOf(query)),
    })

  const shopRails = [...shop.offers.keys()]
  const ownRail = (host: Host): RailName => (host === 'both' ? shopRails[0]! : host)
  return [
    free('GET /catalog', {
      ...listing,
      host: 'both',
      summary: 'Everything on sale, with prices',
      description:
        'The discovery catalog. Anonymous, or with the prices of one player when exactly one recipient is named.',
      result: catalogSchema,
      handle: ({ query, host }) => catalog.whole(host, recipientOf(query)),
    }),
    ...[...(sale?.offers.keys() ?? [])].map((rail) => offers('sale', `/agentic/${rail}/offers`, rail, () => rail)),
    ...shopRails.map((rail) => offers('shop', `/shop/${rail}/offers`, rail, () => rail)),
    ...(shopRails.length > 0 ? [offers('shop', '/shop/api/shop/items', 'both', ownRail)] : []),
  ]
}
