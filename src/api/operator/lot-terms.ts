import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import { formatUsd, type Usd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import { countField, nameField, priceField, timeField } from '../../domain/shelf-fields.ts'

/** What the lot manager decides on the chain. */
export type LotTerms = {
  readonly name: string
  readonly uri: string
  readonly unitPrice: Usd
  readonly supply: bigint
  /** Milliseconds; null means no bound. */
  readonly opensAt: number | null
  readonly closesAt: number | null
}

/** A lot as it is on the chain now. */
export type ChainLot = LotTerms & { readonly saleId: number; readonly minted: bigint; readonly state: string }

const URI_BYTES_MAX = 4_000

/** On the chain a moment is a whole second. */
const secondField = timeField.refine((time) => time % 1000 === 0, { message: 'is not a whole second' })

export const termsFields = z
  .strictObject({
    name: nameField,
    uri: z
      .string({ error: 'is a text' })
      .regex(/^(https:\/\/|ipfs:\/\/|ar:\/\/|data:)/, {
        message: 'is no address of metadata; it begins with https://, ipfs://, ar:// or data:',
      })
      .max(URI_BYTES_MAX, { message: `has more than ${URI_BYTES_MAX} characters; put the metadata elsewhere` }),
    price: priceField,
    supply: countField,
    opensAt: secondField.nullable(),
    closesAt: secondField.nullable(),
  })
  .partial()

type TermsChange = z.output<typeof termsFields>

/** What is not named stays as it is on the chain; a new lot needs a name, a price, a supply and metadata. */
export function mergedTerms(known: ChainLot | null, change: TermsChange): LotTerms {
  const missing = (['name', 'price', 'supply', 'uri'] as const).filter((field) => change[field] === undefined)
  if (!known && missing.length > 0) throw wrong(missing[0]!, 'is missing; a new lot needs name, price, supply and uri')
  const { price = known!.unitPrice, supply = known!.supply } = change
  const terms: LotTerms = {
    name: change.name ?? known!.name,
    uri: change.uri ?? known!.uri,
    unitPrice: price,
    supply: BigInt(supply),
    opensAt: change.opensAt === undefined ? (known?.opensAt ?? null) : change.opensAt,
    closesAt: change.closesAt === undefined ? (known?.closesAt ?? null) : change.closesAt,
  }
  if (known && terms.supply < known.minted)
    throw wrong('supply', `is less than what was minted; the smallest supply is ${known.minted}`)
  if (terms.opensAt !== null && terms.closesAt !== null && terms.closesAt <= terms.opensAt)
    throw wrong('closesAt', 'is not after it opens')
  return terms
}

export function presentLotTerms({ name, uri, unitPrice, supply, opensAt, closesAt }: LotTerms) {
  return {
    name,
    uri,
    price: formatUsd(unitPrice),
    supply: supply.toString(),
    opensAt: opensAt === null ? null : isoTime(opensAt),
    closesAt: closesAt === null ? null : isoTime(closesAt),
  }
}

function wrong(field: string, detail: string): Problem {
  const errors = [{ pointer: `/${field}`, code: 'invalid_request', detail }]
  return new Problem('invalid_request', `/${field}: ${detail}. Nothing was changed.`, { errors })
}
