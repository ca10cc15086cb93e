import { compareNumeric, type Numeric, numericKey, numericToNumber, parseNumeric, printNumeric } from './decimal.ts'
import { checkedJson, parseJson, printJson, wrapped } from './document.ts'
import { lengthOf, momentInJson, momentToDate, parseInterval, parseMoment, printLocal, printMoment } from './moment.ts'
import { raised, Unsupported } from './raised.ts'
import type { Interval, Json, Key, Row, Value } from './value.ts'

export type Field = { readonly name: string; readonly kind: Kind }

/** A type of the server: how its values are read, shown, compared and handed over. None of these is asked about null. */
export type Kind = {
  readonly name: string
  /** Of a list. */
  readonly element: Kind | null
  /** Of a row. */
  readonly fields: readonly Field[] | null
  /** Two values are equal when they are the same to `===`. */
  readonly isPlain: boolean
  compare(a: Value, b: Value): number
  key(value: Value): Key
  parse(text: string): Value
  print(value: Value): string
  /** From what a caller hands to the driver. */
  take(given: unknown): Value
  /** As the driver hands it to a caller. */
  give(value: Value): unknown
  toJson(value: Value): unknown
}

const plainOrder = (a: Value, b: Value) => ((a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0)

/** By code points, as the bytes of UTF-8 are ordered. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  let place = 0
  while (a.charCodeAt(place) === b.charCodeAt(place)) place++
  const [left, right] = [a.charCodeAt(place), b.charCodeAt(place)]
  if (left >= 0xd800 && right >= 0xd800) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return Number.isNaN(left) || left < right ? -1 : 1
}

function kind(name: string, parts: Partial<Kind> & Pick<Kind, 'parse' | 'print'>): Kind {
  const whole: Kind = {
    name,
    element: null,
    fields: null,
    isPlain: true,
    compare: plainOrder,
    key: (value) => value as Key,
    take: (given) => whole.parse(givenText(given)),
    give: (value) => value,
    toJson: (value) => whole.print(value),
    ...parts,
  }
  return whole
}

/** What the driver sends for a value: `prepareValue` of `pg`. */
function givenText(given: unknown): string {
  if (typeof given === 'string') return given
  if (given instanceof Date) return given.toISOString()
  if (given instanceof Uint8Array) return `\\x${Buffer.from(given).toString('hex')}`
  if (Array.isArray(given)) return `{${given.map(givenElement).join(',')}}`
  return typeof given === 'object' ? JSON.stringify(given) : String(given)
}

function givenElement(given: unknown): string {
  if (given === null || given === undefined) return 'NULL'
  if (Array.isArray(given)) throw new Unsupported('lists of lists')
  return `"${givenText(given).replace(/["\\]/g, '\\$&')}"`
}

function wholeNumber(name: string, bits: number): (text: string) => number {
  return (text) => {
    if (!/^\s*[+-]?\d+\s*$/.test(text)) throw raised('22P02', `invalid input syntax for type ${name}: "${text}"`)
    return inRange(name, bits, Number(text))
  }
}

export function inRange(name: string, bits: number, value: number): number {
  const bound = 2 ** (bits - 1)
  if (value < -bound || value >= bound) throw raised('22003', `${name} out of range`)
  return value
}

export function int8InRange(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw raised('22003', 'bigint out of range')
  return value
}

const same = (value: Value) => value
const print = (value: Value) => String(value)

const int = (name: string, bits: number) =>
  kind(name, {
    parse: wholeNumber(name === 'int4' ? 'integer' : 'smallint', bits),
    print,
    take: (given) =>
      typeof given === 'number' && Number.isInteger(given)
        ? inRange(name, bits, given)
        : wholeNumber('integer', bits)(givenText(given)),
    toJson: same,
  })

const TRUTHS: Readonly<Record<string, boolean>> = { t: true, true: true, on: true, f: false, false: false, off: false }

function parseBool(text: string): boolean {
  const found = TRUTHS[text.trim().toLowerCase()]
  if (found === undefined) throw raised('22P02', `invalid input syntax for type boolean: "${text}"`)
  return found
}

function checkedText(text: string): string {
  if (text.includes('\0')) throw raised('22021', 'invalid byte sequence for encoding "UTF8": 0x00')
  return text
}

function parseInt8(text: string): bigint {
  if (!/^\s*[+-]?\d+\s*$/.test(text)) throw raised('22P02', `invalid input syntax for type bigint: "${text}"`)
  return int8InRange(BigInt(text.trim().replace('+', '')))
}

function exactNumber(value: Numeric): number {
  const number = numericToNumber(value)
  if (String(number) !== printNumeric(value)) throw new Unsupported('this number in a document', printNumeric(value))
  return number
}

function parseUuid(text: string): string {
  if (!/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text))
    throw raised('22P02', `invalid input syntax for type uuid: "${text}"`)
  return text.toLowerCase()
}

function parseFloat8(text: string): number {
  if (!/^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(text))
    throw raised('22P02', `invalid input syntax for type double precision: "${text}"`)
  return Number(text)
}

function parseBytes(text: string): Uint8Array {
  if (!text.startsWith('\\x')) throw new Unsupported('bytes that are not hexadecimal')
  return Buffer.from(text.slice(2), 'hex')
}

const never = (what: string) => () => {
  throw new Unsupported(what)
}

export const BOOL = kind('bool', {
  parse: parseBool,
  print,
  take: (given) => (typeof given === 'boolean' ? given : parseBool(givenText(given))),
  toJson: same,
})
export const INT2 = int('int2', 16)
export const INT4 = int('int4', 32)
export const INT8 = kind('int8', {
  parse: parseInt8,
  print,
  give: print,
  toJson: (value) => exactNumber(value as bigint),
})
export const NUMERIC = kind('numeric', {
  isPlain: false,
  compare: (a, b) => compareNumeric(a as Numeric, b as Numeric),
  key: (value) => numericKey(value as Numeric),
  parse: parseNumeric,
  print: (value) => printNumeric(value as Numeric),
  give: (value) => printNumeric(value as Numeric),
  toJson: (value) => exactNumber(value as Numeric),
})
export const FLOAT8 = kind('float8', { parse: parseFloat8, print, toJson: same })
export const TEXT = kind('text', {
  compare: (a, b) => compareText(a as string, b as string),
  parse: checkedText,
  print: (value) => value as string,
})
/** Of a literal or a parameter that nobody has given a kind yet. */
export const UNKNOWN: Kind = { ...TEXT, name: 'unknown' }
export const UUID = kind('uuid', { parse: parseUuid, print })
export const TIMESTAMPTZ = kind('timestamptz', {
  parse: parseMoment,
  print: (value) => printMoment(value as number),
  take: (given) => (given instanceof Date ? given.getTime() * 1000 : parseMoment(givenText(given))),
  give: (value) => (Number.isFinite(value) ? momentToDate(value as number) : value),
  toJson: (value) => momentInJson(value as number),
})
export const TIMESTAMP = kind('timestamp', {
  parse: never('times without a zone in text'),
  print: (value) => printLocal(value as number),
  give: never('times without a zone'),
})
export const INTERVAL = kind('interval', {
  isPlain: false,
  compare: (a, b) => lengthOf(a as Interval) - lengthOf(b as Interval),
  key: (value) => lengthOf(value as Interval),
  parse: parseInterval,
  print: never('intervals as text'),
  give: never('intervals as results'),
})
export const JSONB = kind('jsonb', {
  isPlain: false,
  compare: (a, b) => (JSONB.key(a) === JSONB.key(b) ? 0 : never('which of two documents is greater')()),
  key: (value) => printJson((value as Json).json),
  parse: parseJson,
  print: (value) => printJson((value as Json).json),
  take: (given) => parseJson(givenText(given)),
  give: (value) => (value as Json).json,
  toJson: (value) => (value as Json).json,
})
export const JSON_TEXT = kind('json', {
  compare: never('whether two documents are the same'),
  parse: checkedJson,
  print: (value) => value as string,
  give: (value) => JSON.parse(value as string),
  toJson: (value) => wrapped(JSON.parse(value as string)).json,
})
export const BYTEA = kind('bytea', {
  isPlain: false,
  compare: (a, b) => Buffer.compare(a as Uint8Array, b as Uint8Array),
  key: (value) => Buffer.from(value as Uint8Array).toString('hex'),
  parse: parseBytes,
  print: (value) => `\\x${Buffer.from(value as Uint8Array).toString('hex')}`,
})
export const VOID = kind('void', { parse: same, print, give: () => '' })
/** Which row it is, for whoever deletes some of many. */
export const TID = kind('tid', { parse: never('places of rows'), print, give: never('places of rows') })
export const REGCLASS = kind('regclass', { parse: same, print })

const NAMED: readonly Kind[] = [
  ...[BOOL, INT2, INT4, INT8, NUMERIC, FLOAT8, TEXT, UUID, TIMESTAMPTZ, TIMESTAMP, INTERVAL, JSONB],
  ...[JSON_TEXT, BYTEA, VOID, REGCLASS],
]
const byName = new Map(NAMED.map((one) => [one.name, one]))

export function kindNamed(name: string): Kind {
  const found = byName.get(name)
  if (!found) throw new Unsupported('this type', name)
  return found
}

const lists = new Map<Kind, Kind>()

export function listOf(element: Kind): Kind {
  const known = lists.get(element)
  if (known) return known
  // A list of `numeric` comes back as floats, as `pg` reads it.
  const give = element === NUMERIC ? (one: Value) => numericToNumber(one as Numeric) : element.give
  const list = kind(`${element.name}[]`, {
    element,
    isPlain: false,
    compare: (a, b) => compareEach(a as Row, b as Row, () => element),
    key: (value) => keyOf(value as Row, () => element),
    parse: (text) => parseList(text, element),
    print: (value) =>
      `{${(value as Row).map((one) => (one === null ? 'NULL' : printElement(element.print(one)))).join(',')}}`,
    take: (given) =>
      Array.isArray(given)
        ? given.map((one) => (one === null || one === undefined ? null : element.take(one)))
        : parseList(givenText(given), element),
    give: (value) => (value as Row).map((one) => (one === null ? null : give(one))),
    toJson: (value) => (value as Row).map((one) => (one === null ? null : element.toJson(one))),
  })
  lists.set(element, list)
  return list
}

export function rowOf(fields: readonly Field[]): Kind {
  const kindAt = (place: number) => fields[place]!.kind
  return kind('record', {
    fields,
    isPlain: false,
    compare: (a, b) => compareEach(a as Row, b as Row, kindAt),
    key: (value) => keyOf(value as Row, kindAt),
    parse: never('rows in text'),
    print: never('rows as text'),
    give: never('rows as results'),
    toJson: (value) =>
      Object.fromEntries(fields.map(({ name, kind }, place) => [name, inJson((value as Row)[place]!, kind)])),
  })
}

export const inJson = (value: Value, kind: Kind) => (value === null ? null : kind.toJson(value))

/** Null comes after everything, as in an ascending order. */
export function compareNullable(a: Value, b: Value, kind: Kind): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  return kind.compare(a, b)
}

function compareEach(a: Row, b: Row, kindAt: (place: number) => Kind): number {
  for (let place = 0; place < Math.min(a.length, b.length); place++) {
    const order = compareNullable(a[place]!, b[place]!, kindAt(place))
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** One key of many values: none can be taken for two others. */
export function keyOf(values: Row, kindAt: (place: number) => Kind): string {
  let key = ''
  for (let place = 0; place < values.length; place++) {
    const value = values[place]!
    const part = value === null ? null : String(kindAt(place).key(value))
    key += part === null ? '-' : `${part.length}:${part}`
  }
  return key
}

const printElement = (text: string) =>
  text === '' || /[{}",\\\s]/.test(text) || /^null$/i.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : text

function parseList(text: string, element: Kind): Value {
  if (!/^\{.*\}$/s.test(text)) throw raised('22P02', `malformed array literal: "${text}"`)
  const parts = text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,{}"]+)/gs)
  return [...parts].map(([, quoted, bare]) =>
    quoted === undefined
      ? /^null$/i.test(bare!.trim())
        ? null
        : element.parse(bare!.trim())
      : element.parse(quoted.replace(/\\(.)/gs, '$1')),
  )
}
