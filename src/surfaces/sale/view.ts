import * as z from 'zod'
import type { Clock } from '../../base/clock.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { formatUsd } from '../../base/money.ts'
import type { Shelf } from '../../domain/catalog.ts'
import { commonMembers, type PurchaseView, publicMembers } from '../../domain/offer.ts'
import { publicFields, purchaseFields } from '../../domain/purchase-fields.ts'
import { type Lots, lotStateOf } from './lots.ts'
import type { SaleBuy } from './schema.ts'

export const salePurchaseSchema = z
  .object({
    ...purchaseFields,
    saleId: z.int(),
    quantity: z.int(),
    beneficiary: z.string(),
    saleTx: z.string().nullable().describe('The mint'),
    nfts: z.array(z.object({ contract: z.string(), tokenId: z.string() })).describe('Empty until minted'),
  })
  .meta({ id: 'SalePurchase', description: 'A purchase of NFTs from a sale lot' })

export const saleStatusSchema = salePurchaseSchema
  .extend(publicFields)
  .meta({ id: 'SalePurchaseStatus', description: 'How far a purchase of NFTs is' })

export function presentSale(view: PurchaseView<SaleBuy>): JsonObject {
  return { ...commonMembers(view), ...boughtLot(view) }
}

export function publishSale(view: PurchaseView<SaleBuy>): JsonObject {
  return { ...publicMembers(view), ...boughtLot(view) }
}

function boughtLot({ input, deliveryTx, result }: PurchaseView<SaleBuy>) {
  const { saleId, quantity, beneficiary } = input
  return { saleId, quantity, beneficiary, saleTx: deliveryTx, nfts: (result?.['nfts'] ?? []) as Json }
}

export function saleShelf(lots: Lots, clock: Clock): Shelf {
  return {
    surface: 'sale',
    listing: { summary: 'NFT lots on sale', path: (rail) => `/agentic/${rail}/offers` },
    // Where an entry carries no items, the flat list and the offers route tell what it sells.
    isInEntry: ({ privileges }) => privileges.listsLots,
    isPersonal: false,
    async items(currency) {
      const now = clock.now()
      return [...(await lots.recent()).values()].map((lot) => ({
        id: String(lot.saleId),
        displayName: lot.name,
        description: lot.description,
        price: { amount: formatUsd(lot.unitPrice), currency },
        available: lotStateOf(lot, now) === 'open',
        ...(lot.picture === null ? {} : { picture: lot.picture }),
      }))
    },
  }
}
