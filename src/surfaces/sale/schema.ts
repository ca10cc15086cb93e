import * as z from 'zod'
import type { Limits } from '../../config/limits.ts'
import { addressField, isZero, quantityField, rule } from '../../domain/fields.ts'

export function saleBuySchema({ quantityMax }: Limits) {
  return z.strictObject({
    saleId: z.int().min(0).meta({ description: 'Identifier from the active sale catalog' }),
    quantity: quantityField(quantityMax).describe('Number of NFTs to mint from the sale'),
    beneficiary: addressField
      .refine((value) => !isZero(value), rule('invalid_beneficiary', 'the zero address cannot receive anything'))
      .describe('EVM wallet address that receives the minted NFTs'),
  })
}

export type SaleBuy = z.output<ReturnType<typeof saleBuySchema>>
