import { coerced, commonKind, constant, isNumber, NOWHERE, resolved } from './coerce.ts'
import { addNumeric, decimal, type Numeric, negated, scaleOf, timesNumeric } from './decimal.ts'
import { contains, isSameJson, joined, memberAt, memberOf, textIn, without, wrapped } from './document.ts'
import {
  BOOL,
  compareNullable,
  FLOAT8,
  INT2,
  INT4,
  INTERVAL,
  inRange,
  int8InRange,
  JSON_TEXT,
  JSONB,
  type Kind,
  listOf,
  TEXT,
  TIMESTAMPTZ,
  UNKNOWN,
} from './kinds.ts'
import type { Expr, Text, Work } from './level.ts'
import { between, plusInterval, timesInterval } from './moment.ts'
import { raised, Unsupported } from './raised.ts'
import type { Interval, Json, Row, Value } from './value.ts'

type Two = (a: Value, b: Value) => Value

/** Null when either is. */
export function strict(kind: Kind, left: Expr, right: Expr, apply: Two): Expr {
  const [a, b] = [left.work, right.work]
  const work: Work = (frame) => {
    const one = a(frame)
    if (one === null) return null
    const other = b(frame)
    return other === null ? null : apply(one, other)
  }
  return left.isConstant && right.isConstant ? constant(kind, work(NOWHERE)) : { kind, work }
}

export function binary(operator: string, left: Expr, right: Expr, text: Text): Expr {
  if (COMPARISONS[operator]) return comparison(operator, left, right, text)
  if (operator === '||') return concatenation(left, right, text)
  if (left.kind === JSONB || left.kind === JSON_TEXT) return ofDocument(operator, left, right, text)
  if (ARITHMETIC.has(operator)) return arithmetic(operator, left, right, text)
  if (operator === '~' || operator === '!~') return matching(operator, left, right, text)
  throw new Unsupported('this operator', [operator, left.kind.name, right.kind.name])
}

const COMPARISONS: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}

export function comparison(operator: string, left: Expr, right: Expr, text: Text): Expr {
  const kind = commonKind([left.kind, right.kind])
  return strict(BOOL, coerced(left, kind, text), coerced(right, kind, text), comparer(operator, kind))
}

export function comparer(operator: string, kind: Kind): (a: Value, b: Value) => boolean {
  if (kind === JSON_TEXT) throw raised('42883', 'operator does not exist: json = json')
  if (kind === JSONB && operator !== '=' && operator !== '<>') throw new Unsupported('an order of documents')
  if (kind === JSONB) return (a, b) => isSameJson((a as Json).json, (b as Json).json) === (operator === '=')
  if (kind.isPlain && operator === '=') return (a, b) => a === b
  if (kind.isPlain && operator === '<>') return (a, b) => a !== b
  const holds = COMPARISONS[operator]!
  return (a, b) => holds(kind.compare(a, b))
}

/** Row by row: the first pair that differs decides, and null is not known. */
export function comparedRows(operator: string, kinds: readonly Kind[], a: Row, b: Row): boolean | null {
  let isUnknown = false
  for (const [place, kind] of kinds.entries()) {
    const [one, other] = [a[place]!, b[place]!]
    if (one === null || other === null) {
      if (operator !== '=' && operator !== '<>') return null
      isUnknown = true
      continue
    }
    const order = kind.compare(one, other)
    if (order !== 0) return COMPARISONS[operator]!(order)
  }
  return isUnknown ? null : COMPARISONS[operator]!(0)
}

/** `is distinct from`: null is like null. */
export function distinct(left: Expr, right: Expr, text: Text): Expr {
  const kind = commonKind([left.kind, right.kind])
  const [a, b] = [coerced(left, kind, text).work, coerced(right, kind, text).work]
  return { kind: BOOL, work: (frame) => compareNullable(a(frame), b(frame), kind) !== 0 }
}

function concatenation(left: Expr, right: Expr, text: Text): Expr {
  const [one, other] = [left.kind, right.kind]
  if (one === JSONB || other === JSONB)
    return strict(JSONB, coerced(left, JSONB, text), coerced(right, JSONB, text), (a, b) =>
      wrapped(joined((a as Json).json, (b as Json).json)),
    )
  const list = one.element ? one : other.element ? other : null
  if (list) return concatenatedLists(list, left, right, text)
  if (one !== TEXT && other !== TEXT && one !== UNKNOWN && other !== UNKNOWN)
    throw new Unsupported('this concatenation')
  const words = [left, right].map((expr) => coerced(expr, TEXT, text, 'explicit'))
  return strict(TEXT, words[0]!, words[1]!, (a, b) => (a as string) + (b as string))
}

/** Null is an empty list here, but a null beside one is an element. */
function concatenatedLists(list: Kind, left: Expr, right: Expr, text: Text): Expr {
  const isList = ({ kind }: Expr) => kind === UNKNOWN || kind.element !== null
  const works = [left, right].map((expr) => {
    const { work } = coerced(expr, isList(expr) ? list : list.element!, text)
    return isList(expr) ? (work as Work) : (((frame) => [work(frame)]) satisfies Work)
  })
  const [a, b] = works as [Work, Work]
  return {
    kind: list,
    work(frame) {
      const [one, other] = [a(frame) as Row | null, b(frame) as Row | null]
      return one === null ? other : other === null ? one : [...one, ...other]
    },
  }
}

function ofDocument(operator: string, left: Expr, right: Expr, text: Text): Expr {
  const json =
    left.kind === JSON_TEXT ? (value: Value) => JSON.parse(value as string) : (value: Value) => (value as Json).json
  const step = right.kind === INT4 ? right : right.kind === UNKNOWN ? null : coerced(right, right.kind, text)
  const at = step ?? (operator.startsWith('#') ? coerced(right, listOf(TEXT), text) : null)
  const word = at ?? (operator === '@>' ? coerced(right, JSONB, text) : coerced(right, TEXT, text))
  const isText = left.kind === JSON_TEXT
  if (isText && operator !== '->' && operator !== '->>') throw new Unsupported('this operator of json', operator)
  const shown = (found: unknown): Value =>
    found === undefined ? null : isText ? JSON.stringify(found) : { json: found }
  switch (operator) {
    case '->':
      return strict(left.kind, left, word, (a, b) => shown(memberOf(json(a), b as string | number)))
    case '->>':
      return strict(TEXT, left, word, (a, b) => plainText(memberOf(json(a), b as string | number)))
    case '#>>':
      return strict(TEXT, left, word, (a, b) => plainText(memberAt(json(a), b as readonly string[])))
    case '#>':
      return strict(JSONB, left, word, (a, b) => shown(memberAt(json(a), b as readonly string[])))
    case '-':
      return strict(JSONB, left, word, (a, b) => wrapped(without(json(a), b as string | number)))
    case '@>':
      return strict(BOOL, left, word, (a, b) => contains(json(a), (b as Json).json))
    default:
      throw new Unsupported('this operator of documents', operator)
  }
}

const plainText = (found: unknown) => (found === undefined ? null : textIn(found))

const ARITHMETIC = new Set(['+', '-', '*', '/', '%'])

function arithmetic(operator: string, left: Expr, right: Expr, text: Text): Expr {
  const ofTime = timeArithmetic(operator, left, right, text)
  if (ofTime) return ofTime
  const kind = commonKind([left.kind, right.kind])
  if (!isNumber(kind))
    throw raised('42883', `operator does not exist: ${left.kind.name} ${operator} ${right.kind.name}`)
  const apply = CALCULATIONS[kind.name]?.[operator]
  if (!apply) throw new Unsupported('this calculation', [kind.name, operator])
  return strict(kind, coerced(left, kind, text), coerced(right, kind, text), apply)
}

function timeArithmetic(operator: string, left: Expr, right: Expr, text: Text): Expr | null {
  const [one, other] = [left.kind, right.kind]
  const sign = operator === '-' ? -1 : 1
  if (one === TIMESTAMPTZ && other === INTERVAL && operator !== '*')
    return strict(TIMESTAMPTZ, left, right, (a, b) => plusInterval(a as number, b as Interval, sign))
  if (one === INTERVAL && other === TIMESTAMPTZ && operator === '+')
    return strict(TIMESTAMPTZ, left, right, (a, b) => plusInterval(b as number, a as Interval, 1))
  if (one === TIMESTAMPTZ && operator === '-')
    return strict(INTERVAL, left, coerced(right, TIMESTAMPTZ, text), (a, b) => between(a as number, b as number))
  if (operator !== '*' || (one !== INTERVAL && other !== INTERVAL)) return null
  const [interval, by] = one === INTERVAL ? [left, right] : [right, left]
  return strict(INTERVAL, interval, coerced(by, FLOAT8, text), (a, b) => timesInterval(a as Interval, b as number))
}

type Calculations = Readonly<Record<string, Two>>

const CALCULATIONS: Readonly<Record<string, Calculations>> = {
  int2: ints('smallint', 16),
  int4: ints('integer', 32),
  int8: {
    '+': (a, b) => int8InRange((a as bigint) + (b as bigint)),
    '-': (a, b) => int8InRange((a as bigint) - (b as bigint)),
    '*': (a, b) => int8InRange((a as bigint) * (b as bigint)),
    '/': (a, b) => int8InRange((a as bigint) / notZero(b as bigint)),
    '%': (a, b) => (a as bigint) % notZero(b as bigint),
  },
  numeric: {
    '+': (a, b) => addNumeric(a as Numeric, b as Numeric),
    '-': (a, b) => addNumeric(a as Numeric, negated(b as Numeric)),
    '*': (a, b) => timesNumeric(a as Numeric, b as Numeric),
    '/': (a, b) => quotient(a as Numeric, b as Numeric),
  },
  float8: {
    '+': (a, b) => (a as number) + (b as number),
    '-': (a, b) => (a as number) - (b as number),
    '*': (a, b) => (a as number) * (b as number),
  },
}

function ints(name: string, bits: number): Calculations {
  return {
    '+': (a, b) => inRange(name, bits, (a as number) + (b as number)),
    '-': (a, b) => inRange(name, bits, (a as number) - (b as number)),
    '*': (a, b) => inRange(name, bits, (a as number) * (b as number)),
    '/': (a, b) => inRange(name, bits, Math.trunc((a as number) / Number(notZero(BigInt(b as number))))),
    '%': (a, b) => (a as number) % Number(notZero(BigInt(b as number))),
  }
}

function notZero(value: bigint): bigint {
  if (value === 0n) throw raised('22012', 'division by zero')
  return value
}

/** Twenty digits behind the point: no fewer than the server keeps, and whoever asks makes a float of them. */
function quotient(a: Numeric, b: Numeric): Numeric {
  const by = typeof b === 'bigint' ? b : b.digits
  const digits = (typeof a === 'bigint' ? a : a.digits) * 10n ** BigInt(20 + scaleOf(b))
  return decimal(digits / notZero(by), 20 + scaleOf(a))
}

export function negative(expr: Expr, text: Text): Expr {
  const { kind } = expr
  if (!isNumber(kind)) throw new Unsupported('the negative of this kind', kind.name)
  const zero = coerced(constant(kind === INT2 ? INT2 : INT4, 0), kind, text)
  return strict(kind, zero, expr, CALCULATIONS[kind.name]!['-']!)
}

/** Patterns that mean the same here and there: letters, groups, classes, and no escapes but of punctuation. */
export function regexOf(pattern: string): RegExp {
  const isSafe = /^(?:[\w\s/:^$.*+?()|,;"'-]|\\[^\w\s]|\[\^?[\w-]*\])*$/.test(pattern)
  if (!isSafe || /\(\?/.test(pattern)) throw new Unsupported('this pattern', pattern)
  return new RegExp(pattern, 's')
}

function matching(operator: string, left: Expr, right: Expr, text: Text): Expr {
  const pattern = resolved(right, text)
  if (!pattern.isConstant) throw new Unsupported('a pattern that changes')
  const regex = regexOf(pattern.work(NOWHERE) as string)
  return strict(BOOL, coerced(left, TEXT, text), pattern, (a) => regex.test(a as string) === (operator === '~'))
}

const likes = new Map<string, RegExp>()

export function isLike(word: string, pattern: string): boolean {
  let regex = likes.get(pattern)
  if (!regex) {
    const parts = pattern.matchAll(/\\(.)|([%_])|([^\\%_]+)/gs)
    const source = [...parts].map(([, escaped, wild, plain]) =>
      wild ? (wild === '%' ? '.*' : '.') : (escaped ?? plain)!.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&'),
    )
    regex = new RegExp(`^${source.join('')}$`, 'su')
    likes.set(pattern, regex)
  }
  return regex.test(word)
}
