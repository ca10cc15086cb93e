import * as z from 'zod'
import { parseUsd, type Usd } from '../base/money.ts'

// What an operator may say of goods: each field is checked by this one definition, whether it comes as JSON, by a command or in a table.
// Faults are parts of a sentence that begins with the name of the field.

const PRICE_MAX = parseUsd('1000000')
const COUNT_MAX = 1_000_000_000
const NAME_MAX = 100
const DESCRIPTION_MAX = 1000
const PICTURE_MAX = 2000

/** Control characters, and marks that turn the reading direction: names are compared by eye, and printed in terminals. */
const FORBIDDEN = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u

export const priceField = z.string({ error: 'is an amount in dollars as text, for example 1.50' }).transform(readPrice)

function readPrice(value: string, context: z.core.$RefinementCtx<string>): Usd {
  const fault = (message: string) => {
    context.addIssue({ code: 'custom', message, input: value })
    return z.NEVER
  }
  const shown = value.slice(0, 40)
  if (value.startsWith('-')) return fault(`${shown} is negative; write an amount above zero, for example 1.50`)
  if (/^\d+\.\d{7,}$/.test(value)) return fault(`${shown} has more than six decimals; write for example 0.000001`)
  let price: Usd
  try {
    price = parseUsd(value)
  } catch {
    return fault(`${shown === '' ? 'nothing' : shown} is not an amount in dollars; write for example 1.50`)
  }
  if (price === 0n) return fault('0 is no price; write an amount above zero, or hide it')
  return price <= PRICE_MAX ? price : fault(`${shown} is more than a million dollars; write a smaller amount`)
}

const text = (most: number) =>
  z
    .string({ error: 'is a text' })
    .trim()
    .refine((value) => [...value].length <= most, { message: `has more than ${most} characters` })

export const nameField = text(NAME_MAX)
  .min(1, { message: 'is empty; every good has a name' })
  .refine((value) => !FORBIDDEN.test(value), { message: 'has control, invisible or direction marks' })

/** Several lines are fine; anything else that cannot be seen is not. */
export const descriptionField = text(DESCRIPTION_MAX).refine((value) => !FORBIDDEN.test(value.replace(/\r?\n/g, ' ')), {
  message: 'has control, invisible or direction marks',
})

export const pictureField = text(PICTURE_MAX).refine(isPicture, {
  message: 'is not the address of a picture; it begins with https://',
})

function isPicture(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && url.protocol === 'https:' && url.username === '' && url.password === ''
}

/** `shop:` and `sale:` in front of an id is how listings tell the surfaces apart. */
export const itemIdField = z
  .string({ error: 'is a text' })
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/, {
    message: 'is made of letters, digits and . _ : -, begins with one of the first two, and has at most 64 of them',
  })
  .refine((value) => !/^(shop|sale):/.test(value), { message: 'must not begin with shop: or sale:' })

const whole = (least: number) =>
  z
    .int({ error: `is a whole number from ${least} on` })
    .min(least, { message: `is a whole number from ${least} on` })
    .max(COUNT_MAX, { message: 'is more than a thousand million; leave it empty if there is no end to it' })

export const countField = whole(0)
export const positiveField = whole(1)

/** Milliseconds since 1970. */
export const timeField = z
  .string({ error: 'is a time, for example 2026-12-24T18:00:00Z' })
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/, {
    message: 'is not a time with its zone; write for example 2026-12-24T18:00:00Z',
    abort: true,
  })
  .refine(isOnCalendar, { message: 'is on no calendar; write for example 2026-12-24T18:00:00Z' })
  .transform((value) => Date.parse(value))

/** JavaScript takes the 31st of February for the 3rd of March. */
function isOnCalendar(value: string): boolean {
  const [year, month, day] = value.slice(0, 10).split('-').map(Number) as [number, number, number]
  return !Number.isNaN(Date.parse(value)) && day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}

export const yesField = z.boolean({ error: 'is yes or no' })

export const byField = z
  .string({ error: 'is a text' })
  .min(1, { message: 'is empty; say who does this' })
  .max(100, { message: 'has more than 100 characters' })
  .default('operator')
  .describe('Who decided it')

/** A whole table, as text. */
export const csvField = z.string({ error: 'is a table as text' }).max(1_500_000, {
  message: 'has more than a million and a half characters; import it in parts',
})
