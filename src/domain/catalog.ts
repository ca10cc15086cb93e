import type { SurfaceName } from './good.ts'
import type { Rail, RailName } from './rail.ts'

/** Sale identifiers are numeric strings (contract 2.3.1). */
export type CatalogItem = {
  readonly id: string
  readonly displayName: string
  readonly description: string
  readonly price: { readonly amount: string; readonly currency: string }
  /** Only in a personalised catalog: what this recipient still may buy, and why not. */
  readonly personal?: {
    readonly limitLeft: number | null
    readonly isEligible: boolean
    readonly reason: string | null
    readonly listPrice: string
  }
  readonly available?: boolean
  /** How many of it one player may buy, where there is such a limit. */
  readonly limitPerPlayer?: number
}

/** Who a listing is personalised for. In a listing every identifier is a claim: nobody proved anything. */
export type Recipient = { readonly kind: 'nickname' | 'address' | 'payer'; readonly value: string }

/** What a surface has on its shelf for one currency, in its own order. */
export type Shelf = {
  readonly surface: SurfaceName
  /** Where it is listed by itself, beside the catalog. */
  readonly listing: ShelfListing
  /** Are its items also in the catalog's entry for this rail? */
  isInEntry(rail: Rail): boolean
  /** Does it know recipients, and have prices of their own for them? */
  readonly isPersonal: boolean
  items(currency: string, recipient: Recipient | null): Promise<readonly CatalogItem[]>
}

export type ShelfListing = {
  readonly summary: string
  path(rail: RailName): `/${string}`
  /** One more address, the same at every host. */
  readonly alias?: `/${string}`
}

export type CatalogEntry = {
  readonly id: `${SurfaceName}-${RailName}`
  readonly surface: SurfaceName
  readonly protocol: RailName
  readonly method: 'GET' | 'POST'
  readonly purchaseUrl: string
  readonly quoteUrl: string | null
  readonly statusUrlTemplate: string | null
  readonly items: readonly CatalogItem[]
}
