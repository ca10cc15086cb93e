import * as z from 'zod'
import { checksumAddress, hasWrongChecksum, ZERO_ADDRESS } from '../base/address.ts'
import { PLACEHOLDER_ADDRESS, PLACEHOLDER_NICKNAME } from '../base/placeholder.ts'
import type { ProblemCode } from '../base/problem.ts'

// Request fields that several routes share. Each is checked and printed (OpenAPI, MCP) from this one definition. A text that does not
// match its pattern is not looked at any further: the rules behind the pattern take it for granted.

const UINT256_MAX = 2n ** 256n - 1n
/** A uint256 has at most 78 digits. Asked before `BigInt`, which takes a third of a second for a million of them. */
const UINT256_DIGITS = 78

/** A rule beyond the schema, answered with its own code of the problem table. */
export function rule(code: ProblemCode, message: string) {
  return { message, params: { code } }
}

/** Any case is taken; mixed case must be a right checksum. Comes out in checksum form. */
export const addressField = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, { abort: true })
  .refine((value) => !hasWrongChecksum(value), rule('bad_checksum', 'the checksum is wrong: a digit is mistyped'))
  .refine(
    (value) => value !== PLACEHOLDER_ADDRESS,
    rule('placeholder', `${PLACEHOLDER_ADDRESS} is the placeholder of our examples; put your own address here`),
  )
  .transform(checksumAddress)

export function isZero(address: string): boolean {
  return address === ZERO_ADDRESS
}

/** Decimal digits; `007` is 7. */
export const tokenIdField = z
  .string()
  .regex(/^\d+$/, { abort: true })
  .refine(
    (value) => value.length <= UINT256_DIGITS && BigInt(value) <= UINT256_MAX,
    rule('token_id_out_of_range', 'a token id is at most 2^256 - 1'),
  )
  .transform((value) => BigInt(value).toString())

/** A positive whole number of atomic units. */
export const amountField = z
  .string()
  .regex(/^[1-9]\d*$/, { abort: true })
  .refine((value) => value.length <= UINT256_DIGITS && BigInt(value) <= UINT256_MAX, {
    message: 'an amount is at most 2^256 - 1',
  })

export const hashField = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, { abort: true })
  .transform((value) => value.toLowerCase())

export function quantityField(max: number) {
  return z
    .int()
    .default(1)
    .refine((value) => value >= 1 && value <= max, rule('quantity_out_of_range', `a quantity is 1 to ${max}`))
    .meta({ minimum: 1, maximum: max })
}

/** The caller's own name for a purchase: `Idempotency-Key` over HTTP, an argument over MCP. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{8,128}$/

/** What is not seen, or turns the reading direction, has no place in a name that people compare by eye. By property: Unicode knows more than a list. */
const FORBIDDEN_IN_NAMES = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

export function isPlainName(text: string): boolean {
  return !FORBIDDEN_IN_NAMES.test(text)
}

export function nicknameField(lengthMax: number) {
  return z
    .string()
    .min(1)
    .refine((value) => [...value].length <= lengthMax, { message: `a nickname has at most ${lengthMax} characters` })
    .refine(
      (value) => value !== PLACEHOLDER_NICKNAME,
      rule('placeholder', `${PLACEHOLDER_NICKNAME} is the placeholder of our examples; name a player here`),
    )
    .refine(isPlainName, {
      message: 'a nickname has no control, invisible or direction marks',
    })
}
