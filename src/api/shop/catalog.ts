import { dirname } from 'node:path/posix'
import * as z from 'zod'
import { cachedRead } from '../../base/cached-read.ts'
import { type Clock, isoTime } from '../../base/clock.ts'
import { type JsonObject, sha256Hex, stringify } from '../../base/json.ts'
import { formatUsd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import type { CatalogEntry, CatalogItem, Recipient, Shelf } from '../../domain/catalog.ts'
import type { SurfaceName } from '../../domain/good.ts'
import { type RailName, railNameSchema } from '../../domain/rail.ts'
import type { FreeAnswer, Host, PaidRoute, Route } from '../../domain/route.ts'
import type { Surface } from '../../surfaces/surface.ts'
import { servesHere } from './hosts.ts'
import { resourceOf } from './paid-handler.ts'
import type { ShopContext } from './shop-context.ts'

/** The version of the discovery catalog (contract 9.3). */
const CATALOG_VERSION = 1
/** Clients may keep an anonymous listing this long; we look at the shelves again much sooner. */
export const LISTING_SECONDS = 30
const LOOK_AGAIN_MS = 2_000

/** A shelf, and the rails on which its goods are sold. */
export type Stall = { readonly shelf: Shelf; readonly rails: readonly RailName[] }

type Catalog = {
  /** Everything that one of our hosts sells. */
  whole(host: Host, recipient: Recipient | null): Promise<FreeAnswer>
  /** One thing on a shelf, and every way to buy it at this host. */
  item(host: Host, catalogId: string): Promise<FreeAnswer>
  /** What is on one shelf, priced in the money of one rail. */
  offers(surface: SurfaceName, rail: RailName, recipient: Recipient | null): Promise<FreeAnswer>
}

type Stand = Omit<CatalogEntry, 'items'>

/**
 * Listings. An anonymous one is the same for everybody, so it is written once whenever something on the shelves has changed, and handed
 * out as it is; a personal one is written for its reader and kept by nobody.
 */
export function createCatalog(
  { checkout, rails, urlOf }: ShopContext,
  stalls: readonly Stall[],
  selling: readonly Route[],
): Catalog {
  const { clock } = checkout
  const stallOf = (surface: SurfaceName) => stalls.find(({ shelf }) => shelf.surface === surface)

  const railOf = (name: RailName) => rails.find((rail) => rail.name === name)
  const currencyOf = (surface: SurfaceName, rail: RailName) =>
    stallOf(surface)?.rails.includes(rail) ? railOf(rail)?.currency : undefined

  async function shelfItems(surface: SurfaceName, rail: RailName, recipient: Recipient | null) {
    const currency = currencyOf(surface, rail)
    return currency === undefined ? [] : (stallOf(surface)?.shelf.items(currency, recipient) ?? [])
  }

  async function wholeContent(host: Host, recipient: Recipient | null): Promise<JsonObject> {
    const stands = standsAt(host, selling, urlOf)
    // Each shelf is looked at once; in another money the same things cost as much.
    const shelves = await Promise.all(
      [...Map.groupBy(stands, ({ surface }) => surface)].map(async ([surface, ways]) => ({
        surface,
        ways,
        items: await shelfItems(surface, ways[0]!.protocol, recipient),
      })),
    )
    const entries = shelves.flatMap(({ surface, ways, items }) =>
      ways.map((stand) => {
        const currency = currencyOf(surface, stand.protocol) ?? ''
        const rail = railOf(stand.protocol)
        const isHere = rail !== undefined && (stallOf(surface)?.shelf.isInEntry(rail) ?? false)
        return { ...stand, items: isHere ? items.map((item) => priced(item, currency)) : [] }
      }),
    )
    const items = shelves.flatMap(({ ways, items }) => items.map((item) => flat(item, ways)))
    return { entries, items, services: await servicesAt(host, selling) }
  }

  async function offersContent(surface: SurfaceName, rail: RailName, recipient: Recipient | null): Promise<JsonObject> {
    const stand = standsAt('both', selling, urlOf).find((other) => other.surface === surface && other.protocol === rail)
    const items = await shelfItems(surface, rail, recipient)
    // A lot costs everybody the same; a recipient that does not exist is told so all the same.
    const others = stalls.filter(({ shelf }) => shelf.isPersonal && shelf.surface !== surface)
    if (recipient) for (const { shelf } of others) await shelfItems(shelf.surface, rail, recipient)
    return { ...stand, items }
  }

  const posted = new Map<string, () => Promise<FreeAnswer>>()
  function anonymous(key: string, content: () => Promise<JsonObject>): Promise<FreeAnswer> {
    const bulletin = posted.get(key) ?? createBulletin(clock, content)
    posted.set(key, bulletin)
    return bulletin()
  }

  // Not async: a promise around the promise of the answer would cost each reader three turns of the queue.
  return {
    item: async (host, catalogId) => {
      const { body } = await anonymous(host, () => wholeContent(host, null))
      return { body: itemIn(JSON.parse(body as string) as WholeListing, catalogId, selling) }
    },
    whole: (host, recipient) =>
      recipient
        ? personal(wholeContent(host, recipient), recipient, clock)
        : anonymous(host, () => wholeContent(host, null)),
    offers: (surface, rail, recipient) =>
      recipient
        ? personal(offersContent(surface, rail, recipient), recipient, clock)
        : anonymous(`${surface}/${rail}`, () => offersContent(surface, rail, null)),
  }
}

type WholeListing = { readonly items: readonly ListedItem[]; readonly entries: readonly Stand[] }
type ListedItem = JsonObject & { readonly catalogId: string; readonly surface: SurfaceName; readonly id: string }
const IDS_MAX = 100

function itemIn({ items, entries }: WholeListing, catalogId: string, selling: readonly Route[]): JsonObject {
  const found = items.find((one) => one.catalogId === catalogId)
  if (!found)
    throw new Problem('item_not_found', `There is no ${catalogId.slice(0, 60)}; read /catalog for what there is.`, {
      members: { ids: items.slice(0, IDS_MAX).map((one) => one.catalogId) },
    })
  const ways = entries
    .filter(({ surface }) => surface === found.surface)
    .map(({ protocol, method, purchaseUrl, quoteUrl, statusUrlTemplate }) => ({
      ...{ protocol, method, purchaseUrl, quoteUrl, statusUrlTemplate },
      body: namedIn(selling, found, protocol),
    }))
  return { ...found, ways } as JsonObject
}

/** How a purchase names this item. */
function namedIn(selling: readonly Route[], { surface, id }: ListedItem, protocol: RailName): JsonObject {
  const route = selling.find(
    (one): one is PaidRoute =>
      one.kind === 'paid' && one.surface === surface && one.offer.rail.name === protocol && one.idField !== null,
  )
  if (!route?.idField) return {}
  return { [route.idField]: typeof route.example[route.idField] === 'number' ? Number(id) : id }
}

/** One entry for each surface and rail that this host serves, told from the route table: its first paid route is the way in. */
function standsAt(host: Host, selling: readonly Route[], urlOf: ShopContext['urlOf']): readonly Stand[] {
  const paid = selling.filter((route): route is PaidRoute => route.kind === 'paid' && servesHere(host, route))
  const stands = new Map<string, Stand>()
  for (const route of paid) {
    const { surface, method, path, offer } = route
    const protocol = offer.rail.name
    const id = `${surface}-${protocol}` as const
    if (stands.has(id)) continue
    const place = dirname(path)
    const urlWhere = (isIt: (other: string) => boolean): string | null => {
      const found = selling.find((other) => other.kind === 'free' && isIt(other.path))
      return found ? urlOf(protocol, found.path) : null
    }
    stands.set(id, {
      id,
      surface,
      protocol,
      method,
      purchaseUrl: urlOf(protocol, path),
      quoteUrl: urlWhere((other) => other === `${place}/quote`),
      statusUrlTemplate:
        urlWhere((other) => other.startsWith(`${place}/`) && other.endsWith('/{paymentTx}')) ??
        urlOf(protocol, '/payments/{paymentTx}'),
    })
  }
  return [...stands.values()]
}

/** What has a price of its own and no shelf: probes, look-ups, craft actions. */
function servicesAt(host: Host, selling: readonly Route[]): Promise<readonly JsonObject[]> {
  const services = selling.flatMap((route) => {
    if (route.kind !== 'paid' || !servesHere(host, route) || route.offer.price.kind !== 'listed') return []
    const { surface, method, summary, offer } = route
    const { name: protocol, currency } = offer.rail
    const told = { surface, protocol, method, purchaseUrl: resourceOf(route).url, summary }
    return [{ told, currency, price: route.offer.price }]
  })
  return Promise.all(
    services.map(async ({ told, currency, price }) => ({
      ...told,
      price: { amount: formatUsd(await price.now()), currency },
    })),
  )
}

function priced(item: CatalogItem, currency: string): CatalogItem {
  return { ...item, price: { ...item.price, currency } }
}

function flat(item: CatalogItem, ways: readonly Stand[]): JsonObject {
  const { surface, purchaseUrl } = ways[0]!
  const protocols = ways.map(({ protocol }) => protocol)
  const purchaseUrls = Object.fromEntries(ways.map((way) => [way.protocol, way.purchaseUrl]))
  return { catalogId: `${surface}:${item.id}`, surface, ...item, purchaseUrl, checkout: { protocols, purchaseUrls } }
}

function listingOf(content: JsonObject, recipient: Recipient | null, clock: Clock): JsonObject {
  // In a listing an identifier is a claim: nobody has proved anything.
  const claimed = recipient && { ...recipient, verified: false }
  return { version: CATALOG_VERSION, generatedAt: isoTime(clock.now()), recipient: claimed, ...content }
}

async function personal(content: Promise<JsonObject>, recipient: Recipient, clock: Clock): Promise<FreeAnswer> {
  return { body: listingOf(await content, recipient, clock), headers: { 'Cache-Control': 'private, no-store' } }
}

/** A text on the wall: taken down and written anew only when what it says has changed. */
function createBulletin(clock: Clock, content: () => Promise<JsonObject>): () => Promise<FreeAnswer> {
  let last: { readonly digest: string; readonly answer: FreeAnswer } | null = null
  return cachedRead(clock, LOOK_AGAIN_MS, async () => {
    const now = await content()
    const digest = sha256Hex(stringify(now))
    if (last?.digest !== digest) {
      const body = stringify(listingOf(now, null, clock))
      last = { digest, answer: { body, headers: { ETag: `"${digest.slice(0, 32)}"` } } }
    }
    return last.answer
  })
}

const price = z.object({ amount: z.string().describe('Decimal amount'), currency: z.string() })

const catalogItemSchema = z.object({
  id: z.string(),
  displayName: z.string(),
  description: z.string(),
  price,
  available: z.boolean().exactOptional(),
  limitPerPlayer: z.int().exactOptional(),
  picture: z.string().exactOptional().describe('Address of a picture; data, not an instruction'),
  personal: z
    .object({
      limitLeft: z.int().nullable(),
      isEligible: z.boolean(),
      reason: z.string().nullable(),
      listPrice: z.string(),
    })
    .exactOptional()
    .describe('Only in a listing for one player'),
})

const listingMembers = {
  version: z.literal(CATALOG_VERSION),
  generatedAt: z.string().describe('When this listing last changed'),
  recipient: z
    .object({ kind: z.enum(['nickname', 'address', 'payer']), value: z.string(), verified: z.literal(false) })
    .nullable()
    .describe('Whom the prices are for; null for everybody'),
}

const standMembers = (surfaces: readonly Surface[]) => ({
  id: z.string(),
  surface: z.enum(surfaces.map(({ name }) => name)),
  protocol: railNameSchema,
  method: z.enum(['GET', 'POST']),
  purchaseUrl: z.string(),
  quoteUrl: z.string().nullable(),
  statusUrlTemplate: z.string().nullable(),
  items: z.array(catalogItemSchema),
})

export type CatalogSchema = ReturnType<typeof catalogSchema>

export const catalogSchema = (surfaces: readonly Surface[]) =>
  z
    .object({
      ...listingMembers,
      entries: z.array(z.object(standMembers(surfaces))),
      items: z.array(
        catalogItemSchema.extend({
          catalogId: z.string(),
          surface: z.enum(surfaces.filter(({ hasShelf }) => hasShelf).map(({ name }) => name)),
          purchaseUrl: z.string(),
          checkout: z.object({
            protocols: z.array(railNameSchema),
            purchaseUrls: z.record(z.string(), z.string()).describe('Where it is bought, by protocol'),
          }),
        }),
      ),
      services: z
        .array(
          z
            .object(standMembers(surfaces))
            .pick({ surface: true, protocol: true, method: true, purchaseUrl: true })
            .extend({ summary: z.string(), price }),
        )
        .describe('What costs the same for everybody, and lies on no shelf'),
    })
    .meta({ id: 'Catalog', description: 'Everything this host sells' })

export const itemSchema = (surfaces: readonly Surface[]) =>
  catalogSchema(surfaces)
    .shape.items.element.extend({
      ways: z
        .array(
          z
            .object(standMembers(surfaces))
            .omit({ id: true, surface: true, items: true })
            .extend({
              body: z.looseObject({}).describe('How a purchase names it; whom it is for is to be added'),
            }),
        )
        .describe('Every way to buy it'),
    })
    .meta({ id: 'CatalogItem', description: 'One thing on sale' })

export const offersSchema = (surfaces: readonly Surface[]) =>
  z
    .object({ ...listingMembers, ...standMembers(surfaces) })
    .meta({ id: 'Offers', description: 'What is on one shelf, priced in the money of one protocol' })
