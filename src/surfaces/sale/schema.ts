import * as z from 'zod'
import type { Limits } from '../../config/limits.ts'
import { addressField, isZero, quantityField, rule } from '../../domain/fields.ts'

export function saleBuySchema({ quantityMax }: Limits) {
  return z.strictObject({
    saleId: z.preprocess(asNumber, z.int().min(0).describe('Identifier from the active sale catalog')),
    quantity: quantityField(quantityMax).describe('Number of NFTs to mint from the sale'),
    beneficiary: addressField
      .refine((value) => !isZero(value), rule('invalid_beneficiary', 'the zero address cannot receive anything'))
      .describe('EVM wallet address that receives the minted NFTs'),
  })
}

export type SaleBuy = z.output<ReturnType<typeof saleBuySchema>>

const WRITTEN = /^(?:sale:)?(\d{1,15})$/

/** Catalogs show `391` as text and `sale:391`: whoever copies either means the same lot. */
function asNumber(value: unknown): unknown {
  const [, digits] = typeof value === 'string' ? (WRITTEN.exec(value) ?? []) : []
  return digits === undefined ? value : Number(digits)
}
