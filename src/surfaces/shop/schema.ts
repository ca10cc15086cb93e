import * as z from 'zod'
import type { Limits } from '../../config/limits.ts'
import { addressField, nicknameField, quantityField } from '../../domain/fields.ts'
import type { Rail } from '../../domain/rail.ts'
import { ALL_KINDS, type RecipientKind } from '../../domain/recipient.ts'

/** How the catalog tells this surface's ids from those of others. */
export const SHOWN_BEFORE_IDS = 'shop:'

/** Whom a purchase may name. */
export function recipientKinds({ privileges }: Pick<Rail, 'privileges'>): readonly RecipientKind[] {
  return privileges.servesPayer ? ALL_KINDS : ['nickname', 'address']
}

/** The fields alone, without the recipient rule: a query string is converted by them before the rule is asked. */
export function shopBuyFields({ quantityMax, nicknameLengthMax }: Limits, kinds: readonly RecipientKind[]) {
  const purchase = {
    itemId: z.preprocess(withoutSurface, z.string().min(1).max(128).describe('Item identifier from the catalog')),
    quantity: quantityField(quantityMax).describe('Number of copies'),
    nickname: nicknameField(nicknameLengthMax).exactOptional().describe('Recipient player nickname'),
    address: addressField.exactOptional().describe('Recipient wallet address'),
  }
  const payer = addressField.exactOptional().describe('Verified payment sender whose linked player receives it')
  return kinds.includes('payer') ? z.strictObject({ ...purchase, payer }) : z.strictObject(purchase)
}

/** Catalogs show `keys:5` and `shop:keys:5`: whoever copies either means the same item. No item's own id begins so. */
function withoutSurface(value: unknown): unknown {
  return typeof value === 'string' && value.startsWith(SHOWN_BEFORE_IDS) ? value.slice(SHOWN_BEFORE_IDS.length) : value
}

/** A request for an item, as it was sent. Exactly one of the three is there; the rule below has seen to it. */
export type ShopBuy = {
  readonly itemId: string
  readonly quantity: number
  readonly nickname?: string
  readonly address?: string
  readonly payer?: string
}
