import type * as z from 'zod'
import { cachedRead } from '../../base/cached-read.ts'
import { isoTime } from '../../base/clock.ts'
import type { Hex } from '../../base/hex.ts'
import { stringify } from '../../base/json.ts'
import type { Usd } from '../../base/money.ts'
import type { Secret } from '../../base/secret.ts'
import { type Config, mcpBaseUrl } from '../../config/config.ts'
import type { Rail } from '../../domain/rail.ts'
import type { FreeRoute, Host, PaidRoute, Route } from '../../domain/route.ts'
import type { Surface } from '../../surfaces/surface.ts'
import type { CatalogSchema } from '../shop/catalog.ts'
import { servesHere } from '../shop/hosts.ts'
import type { ShopContext } from '../shop/shop-context.ts'
import { ownershipProofs } from './ownership.ts'

type Range = { readonly lowest: Usd; readonly highest: Usd }

/** A paid route and what it costs now: one price for all, or between which unit prices it sells. Both null: nothing is on the shelf. */
export type PricedRoute = { readonly route: PaidRoute; readonly amount: Usd | null; readonly range: Range | null }

export type ListedItem = z.output<CatalogSchema>['items'][number]

/**
 * Everything one of our hosts has to tell, at one moment. Each document is written from this alone, so no two of them can disagree, and
 * as long as its revision is the same, nothing that was written has to be written again.
 */
export type Facts = {
  readonly host: Host
  /** Counts the changes of what this host has to tell. */
  readonly revision: number
  /** Public address of this host. */
  readonly origin: string
  readonly config: Config
  /** All protocols that this shop takes, at whichever of its hosts. */
  readonly rails: readonly Rail[]
  /** All families of goods, in their order. */
  readonly surfaces: readonly Surface[]
  /** Of this program. */
  readonly version: string
  /** The rows of the route table that are served here; without the sandbox's own tools, which are no part of the contract. */
  readonly routes: readonly Route[]
  /** These tools; none where money is real. */
  readonly sandboxRoutes: readonly FreeRoute[]
  readonly paid: readonly PricedRoute[]
  readonly items: readonly ListedItem[]
  readonly proofs: readonly Hex[]
  readonly mcpUrl: string
  /** Does this host serve it? */
  readonly hasMcp: boolean
  /** Where a new visitor of the sandbox finds keys and play money; null where money is real. */
  readonly sandboxUrl: string | null
  /** When these became the facts. */
  readonly since: string
}

export type FactsSource = (host: Host) => Promise<Facts>

export type FactsOptions = {
  readonly context: ShopContext
  readonly config: Config
  /** Keys of ours at addresses that may be paid. */
  readonly treasuryKeys: readonly Secret[]
  readonly version: string
  /** The whole table. Asked when the first document is, by which time the documents' own rows are in it. */
  readonly routes: () => readonly Route[]
}

/** A price on the shelf shows in a document this soon. Clients may keep a document for longer than that. */
const LOOK_AGAIN_MS = 2_000
export const SANDBOX_PATH = '/sandbox'

export function createFacts(options: FactsOptions): FactsSource {
  const sources = new Map<Host, () => Promise<Facts>>()
  return (host) => {
    const source = sources.get(host) ?? factsAt(host, options)
    sources.set(host, source)
    return source()
  }
}

const isOfSandbox = ({ path }: Route) => path.startsWith(SANDBOX_PATH)

type Live = Pick<Facts, 'paid' | 'items'>

function factsAt(host: Host, { context, config, treasuryKeys, version, routes }: FactsOptions): () => Promise<Facts> {
  const { clock } = context.checkout
  const here = routes().filter((route) => servesHere(host, route))
  const contract = here.filter((route) => !isOfSandbox(route))
  const paid = contract.filter((route): route is PaidRoute => route.kind === 'paid')
  const catalog = contract.find((route): route is FreeRoute => route.kind === 'free' && route.path === '/catalog')
  const origin = host === 'both' ? config.http.baseUrl : host
  const mcpHost = mcpBaseUrl(config.http)
  const payTo = paid.map(({ offer }) => offer.rail.payTo)
  const fixed = {
    host,
    origin,
    config,
    rails: context.rails,
    surfaces: context.surfaces,
    version,
    routes: contract,
    sandboxRoutes: here.filter((route): route is FreeRoute => route.kind === 'free' && isOfSandbox(route)),
    proofs: ownershipProofs(origin, payTo, { given: config.service.ownershipProofs, keys: treasuryKeys }),
    mcpUrl: `${mcpHost}/mcp`,
    hasMcp: servesHere(host, { host: mcpHost }),
    sandboxUrl: here.some(({ path }) => path === SANDBOX_PATH) ? origin + SANDBOX_PATH : null,
  }

  async function look(): Promise<Live> {
    return { paid: await Promise.all(paid.map(pricedNow)), items: catalog ? await itemsOf(catalog, host) : [] }
  }

  let last: { readonly digest: string; readonly live: Live; readonly facts: Facts } | null = null
  return cachedRead(clock, LOOK_AGAIN_MS, async () => {
    // A contract is worth reading while a chain or a game is out of reach; its prices are then the last that were seen.
    const unpriced = { paid: paid.map(unpricedNow), items: [] }
    const live = await look().catch(() => last?.live ?? unpriced)
    const digest = stringify([live.paid.map(({ amount, range }) => [amount, range]), live.items])
    if (last?.digest !== digest) {
      const revision = (last?.facts.revision ?? 0) + 1
      last = { digest, live, facts: { ...fixed, ...live, revision, since: isoTime(clock.now()) } }
    }
    return last.facts
  })
}

async function pricedNow(route: PaidRoute): Promise<PricedRoute> {
  const { price } = route.offer
  if (price.kind === 'listed') return { route, amount: await price.now(), range: null }
  return { route, amount: null, range: await price.range() }
}

function unpricedNow(route: PaidRoute): PricedRoute {
  const { price } = route.offer
  return { route, amount: price.kind === 'listed' ? price.usual : null, range: null }
}

async function itemsOf(catalog: FreeRoute, host: Host): Promise<readonly ListedItem[]> {
  const nothing = { params: {}, query: {}, body: {}, bytes: new Uint8Array(), header: () => undefined }
  const { body } = await catalog.handle({ ...nothing, host })
  return (JSON.parse(body as string) as z.output<CatalogSchema>).items
}

/** The lowest price of a route; null when nothing is on the shelf. */
export function lowestPrice({ amount, range }: PricedRoute): Usd | null {
  return amount ?? range?.lowest ?? null
}
