import * as z from 'zod'
import type { Recipient } from './catalog.ts'
import { addressField, nicknameField, rule } from './fields.ts'

export type RecipientKind = Recipient['kind']

export const ALL_KINDS: readonly RecipientKind[] = ['nickname', 'address', 'payer']

/** Whom a listing is for: nobody, or exactly one recipient. */
export function listingFields({ nicknameLengthMax }: { readonly nicknameLengthMax: number }) {
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
