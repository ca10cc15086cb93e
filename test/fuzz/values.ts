import type { Dice } from './random.ts'

/** A JSON Schema, as far as ours go. */
export type Schema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
}

/** Values that exist in the shop, so that some requests get past the first look. */
export type Known = Readonly<Record<string, readonly unknown[]>>

const DEAD = '0x000000000000000000000000000000000000dEaD'

/** Something the schema would take, more or less. */
export function sampleOf(schema: Schema, known: Known, dice: Dice, name = ''): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return dice.pick(schema.enum)
  const options = schema.oneOf ?? schema.anyOf
  if (options && !schema.properties) return sampleOf(dice.pick(options), known, dice, name)
  if (known[name] && dice.chance(0.5)) return dice.pick(known[name])
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([key]) => schema.required?.includes(key) || dice.chance(0.5))
          .map(([key, property]) => [key, sampleOf(property, known, dice, key)]),
      )
    case 'array': {
      const { minItems = 0, maxItems = 3, items = {} } = schema
      return Array.from({ length: minItems + dice.below(Math.min(maxItems, 3) + 1) }, () =>
        sampleOf(items, known, dice, name),
      )
    }
    case 'integer':
    case 'number':
      return dice.below(1_000)
    case 'boolean':
      return dice.chance(0.5)
    default:
      return textOf(schema.pattern ?? '', dice)
  }
}

function textOf(pattern: string, dice: Dice): string {
  if (pattern.includes('{64}')) return `0x${hex(64, dice)}`
  if (pattern.includes('{40}')) return dice.chance(0.5) ? DEAD : `0x${hex(40, dice)}`
  if (pattern.includes('\\d')) return `${1 + dice.below(1_000_000)}`
  return dice.pick(['Demo', 'nobody', 'keys:5', 'x', 'player-1', `name${dice.below(100)}`])
}

function hex(digits: number, dice: Dice): string {
  return Array.from({ length: digits }, () => dice.below(16).toString(16)).join('')
}

/** What somebody always forgets about. */
const nasty: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  -0,
  2 ** 53,
  '',
  ' ',
  '0',
  '-1',
  'NaN',
  'null',
  '\u0000',
  '\u202e',
  '\ufeff',
  '😀'.repeat(70),
  'é'.repeat(500),
  "'; drop table orders; --",
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '%00',
  '{{7*7}}',
  '9'.repeat(80),
  '9'.repeat(5_000),
  'x'.repeat(9_000),
  `0x${'0'.repeat(40)}`,
  `0x${'f'.repeat(64)}`,
  [],
  {},
  [[[[[[]]]]]],
  { a: { b: { c: {} } } },
  [1, 2, 3],
  { toString: 1 },
  { constructor: { prototype: {} } },
]

/** Changes a value somewhere: another value, a property less, one more, a list too long. */
export function mutated(value: unknown, dice: Dice): unknown {
  if (Array.isArray(value) && value.length > 0 && dice.chance(0.7)) {
    const index = dice.below(value.length)
    if (dice.chance(0.2)) return Array.from({ length: 25 }, () => value[index])
    return value.with(index, mutated(value[index], dice))
  }
  if (value !== null && typeof value === 'object' && !Array.isArray(value) && dice.chance(0.85)) {
    const entries = Object.entries(value)
    const kind = dice.below(4)
    if (entries.length === 0 || kind === 0)
      return Object.fromEntries([
        ...entries,
        [dice.pick(['zzz', '__proto__', 'constructor', '', 'a'.repeat(300), 'saleID', '\u0000']), dice.pick(nasty)],
      ])
    const index = dice.below(entries.length)
    if (kind === 1) return Object.fromEntries(entries.toSpliced(index, 1))
    const [key, inner] = entries[index]!
    return Object.fromEntries(entries.with(index, [key, mutated(inner, dice)]))
  }
  return dice.pick(nasty)
}

/** Changes bytes without asking what they mean. */
export function mangled(bytes: Buffer, dice: Dice): Buffer {
  const at = dice.below(bytes.length + 1)
  switch (dice.below(6)) {
    case 0:
      return bytes.subarray(0, at)
    case 1:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([dice.below(256)]), bytes.subarray(at)])
    case 2: {
      const copy = Buffer.from(bytes)
      if (copy.length > 0) copy[at % copy.length]! ^= 1 << dice.below(8)
      return copy
    }
    case 3:
      return Buffer.concat([bytes, bytes])
    case 4:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(dice.pick(['{', '}', '[', ']', '"', ',', ':', '\\', '\\u', '\ufeff', '1e999', '//', '\r\n'])),
        bytes.subarray(at),
      ])
    default:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(dice.below(bytes.length + 1))])
  }
}
