import * as z from 'zod'
import { addressField, amountField, isZero, rule, tokenIdField } from '../../domain/fields.ts'

export type CraftBounds = { readonly nftsMax: number; readonly defaultAmount: bigint; readonly maxAmount: bigint }

const realAddress = addressField.refine((value) => !isZero(value), { message: 'the zero address is nobody' })
const userField = realAddress.describe('Owner of the tokens; must also be the payer')

/** The routes of every rail take the same bodies (D7.8); `type` belongs to the quote alone. */
export function craftSchemas({ nftsMax, defaultAmount, maxAmount }: CraftBounds) {
  const nft = z.strictObject({
    contract: realAddress.describe('An allowed collection; the config lists them'),
    tokenId: tokenIdField.describe('Decimal digits'),
  })
  const burn = z.strictObject({
    user: userField,
    nfts: z
      .array(nft)
      .min(1)
      .max(nftsMax)
      .refine((nfts) => new Set(nfts.map(nameOf)).size === nfts.length, rule('duplicate_nft', 'an NFT is listed twice'))
      .describe('The NFTs to burn, all in one transaction; each must be approved for the craft controller'),
  })
  const accelerate = z.strictObject({
    user: userField,
    amount: amountField
      .refine(
        (value) => BigInt(value) <= maxAmount,
        rule('quantity_out_of_range', `at most ${maxAmount} atomic units may be charged at once`),
      )
      .exactOptional()
      .describe(`Atomic units of the craft token to charge; ${defaultAmount} when left out`),
  })
  const quote = z.discriminatedUnion(
    'type',
    [burn.extend({ type: z.literal('burn') }), accelerate.extend({ type: z.literal('accelerate') })],
    { error: 'type must be burn or accelerate' },
  )
  return { burn, accelerate, quote }
}

export type CraftSchemas = ReturnType<typeof craftSchemas>
export type Burn = z.output<CraftSchemas['burn']>
export type Accelerate = z.output<CraftSchemas['accelerate']>
export type Nft = Burn['nfts'][number]

/** One name per token, however its address and number were written. */
export function nameOf({ contract, tokenId }: { readonly contract: string; readonly tokenId: string }): string {
  return `${contract.toLowerCase()}:${tokenId}`
}
