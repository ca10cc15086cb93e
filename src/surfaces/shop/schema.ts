import * as z from 'zod'
import type { Limits } from '../../config/limits.ts'
import type { Recipient } from '../../domain/catalog.ts'
import { addressField, nicknameField, quantityField, rule } from '../../domain/fields.ts'
import type { RailName } from '../../domain/rail.ts'

export type RecipientKind = Recipient['kind']

const ALL_KINDS: readonly RecipientKind[] = ['nickname', 'address', 'payer']

/** Whom a purchase may name. Only MPP's own route knows the payer before the payment is made. */
export function recipientKinds(rail: RailName): readonly RecipientKind[] {
  return rail === 'mpp' ? ALL_KINDS : ['nickname', 'address']
}

/** The fields alone, without the recipient rule: a query string is converted by them before the rule is asked. */
export function shopBuyFields({ quantityMax, nicknameLengthMax }: Limits, rail: RailName) {
  const purchase = {
    itemId: z.string().min(1).max(128).describe('Item identifier from the catalog'),
    quantity: quantityField(quantityMax).describe('Number of copies'),
    nickname: nicknameField(nicknameLengthMax).exactOptional().describe('Recipient player nickname'),
    address: addressField.exactOptional().describe('Recipient wallet address'),
  }
  const payer = addressField.exactOptional().describe('Verified payment sender whose linked player receives it')
  return rail === 'mpp' ? z.strictObject({ ...purchase, payer }) : z.strictObject(purchase)
}

/** A request for an item, as it was sent. Exactly one of the three is there; the rule below has seen to it. */
export type ShopBuy = {
  readonly itemId: string
  readonly quantity: number
  readonly nickname?: string
  readonly address?: string
  readonly payer?: string
}

/** Whom a listing is for: nobody, or exactly one recipient. */
export function listingFields({ nicknameLengthMax }: Limits) {
  return z.strictObject({
    nickname: nicknameField(nicknameLengthMax).exactOptional().describe('See the prices of this player'),
    address: addressField.exactOptional().describe('See the prices of the player with this wallet'),
    payer: addressField.exactOptional().describe('See the prices of the player who would pay from this wallet'),
  })
}

/**
 * Exactly one recipient (contract 2.2.6). The rule is asked before the fields, so that an identifier of the other protocol is answered with
 * the rule rather than as an unknown property, and it prints itself as `oneOf` into every document.
 */
export function exactlyOneRecipient<Schema extends z.ZodType>(schema: Schema, kinds: readonly RecipientKind[]) {
  const message = `give exactly one of ${kinds.join(', ')}`
  return recipientRule(schema, (given) => given.length === 1 && kinds.includes(given[0]!), message).meta({
    oneOf: kinds.map((kind) => ({ required: [kind] })),
  })
}

/** In a listing it may also be none. */
export function atMostOneRecipient<Schema extends z.ZodType>(schema: Schema) {
  const message = `give at most one of ${ALL_KINDS.join(', ')}`
  return recipientRule(schema, (given) => given.length <= 1, message).meta({ maxProperties: 1 })
}

function recipientRule<Schema extends z.ZodType>(
  schema: Schema,
  isFine: (given: readonly RecipientKind[]) => boolean,
  message: string,
) {
  return z.preprocess((value, context) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (isObject && !isFine(ALL_KINDS.filter((kind) => Object.hasOwn(value, kind))))
      context.addIssue({ code: 'custom', input: value, ...rule('recipient_rule', message) })
    return value
  }, schema)
}

export function recipientOf(named: {
  readonly nickname?: string
  readonly address?: string
  readonly payer?: string
}): Recipient | null {
  for (const kind of ALL_KINDS) {
    const value = named[kind]
    if (value !== undefined) return { kind, value }
  }
  return null
}
