import { raised, Unsupported } from './raised.ts'
import type { Decimal } from './value.ts'

export type Numeric = bigint | Decimal

const ten = (power: number) => 10n ** BigInt(power)

export const scaleOf = (value: Numeric) => (typeof value === 'bigint' ? 0 : value.scale)
const digitsOf = (value: Numeric) => (typeof value === 'bigint' ? value : value.digits)

export const decimal = (digits: bigint, scale: number): Numeric => (scale === 0 ? digits : { digits, scale })

/** Both with the same number of digits behind the point. */
function aligned(a: Numeric, b: Numeric): readonly [bigint, bigint, number] {
  const scale = Math.max(scaleOf(a), scaleOf(b))
  return [digitsOf(a) * ten(scale - scaleOf(a)), digitsOf(b) * ten(scale - scaleOf(b)), scale]
}

export function compareNumeric(a: Numeric, b: Numeric): number {
  if (typeof a === 'bigint' && typeof b === 'bigint') return a < b ? -1 : a > b ? 1 : 0
  const [left, right] = aligned(a, b)
  return left < right ? -1 : left > right ? 1 : 0
}

export function addNumeric(a: Numeric, b: Numeric): Numeric {
  if (typeof a === 'bigint' && typeof b === 'bigint') return a + b
  const [left, right, scale] = aligned(a, b)
  return decimal(left + right, scale)
}

export const negated = (a: Numeric): Numeric => decimal(-digitsOf(a), scaleOf(a))

export function timesNumeric(a: Numeric, b: Numeric): Numeric {
  return decimal(digitsOf(a) * digitsOf(b), scaleOf(a) + scaleOf(b))
}

/** The whole part of the quotient, towards zero. */
export function divNumeric(a: Numeric, b: Numeric): Numeric {
  const [left, right] = aligned(a, b)
  if (right === 0n) throw raised('22012', 'division by zero')
  return left / right
}

/** To so many digits behind the point, a half away from zero. */
export function rounded(value: Numeric, scale: number): Numeric {
  const missing = scale - scaleOf(value)
  if (missing >= 0) return decimal(digitsOf(value) * ten(missing), scale)
  const unit = ten(-missing)
  const digits = digitsOf(value)
  const half = (digits < 0n ? -unit : unit) / 2n
  return decimal((digits + half) / unit, scale)
}

export function floorOf(value: Numeric): bigint {
  const [digits, unit] = [digitsOf(value), ten(scaleOf(value))]
  return digits / unit - (digits < 0n && digits % unit !== 0n ? 1n : 0n)
}

export const ceilOf = (value: Numeric) => -floorOf(negated(value))

export function parseNumeric(text: string): Numeric {
  const [, sign, whole, part = '', exponent] = /^\s*([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?\s*$/i.exec(text) ?? []
  if (whole === undefined || whole + part === '') {
    if (/^\s*[+-]?(nan|inf)/i.test(text)) throw new Unsupported('numbers without an end', text)
    throw raised('22P02', `invalid input syntax for type numeric: "${text}"`)
  }
  const digits = BigInt(whole + part) * (sign === '-' ? -1n : 1n)
  const scale = part.length - Number(exponent ?? 0)
  return scale >= 0 ? decimal(digits, scale) : digits * ten(-scale)
}

export function printNumeric(value: Numeric): string {
  if (typeof value === 'bigint') return value.toString()
  const { digits, scale } = value
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0')
  return `${digits < 0n ? '-' : ''}${text.slice(0, -scale)}.${text.slice(-scale)}`
}

export const numericToNumber = (value: Numeric) =>
  typeof value === 'bigint' ? Number(value) : Number(printNumeric(value))

/** Without zeros at its end: equal values have equal keys. */
export function numericKey(value: Numeric): bigint | string {
  if (typeof value === 'bigint') return value
  const text = printNumeric(value).replace(/\.?0+$/, '')
  return text.includes('.') ? text : BigInt(text)
}
