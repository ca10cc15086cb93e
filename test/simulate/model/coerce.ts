import { type Numeric, numericToNumber, parseNumeric, rounded } from './decimal.ts'
import { parseJson, printJson } from './document.ts'
import {
  BOOL,
  FLOAT8,
  INT2,
  INT4,
  INT8,
  inRange,
  int8InRange,
  JSON_TEXT,
  JSONB,
  type Kind,
  NUMERIC,
  REGCLASS,
  TEXT,
  UNKNOWN,
} from './kinds.ts'
import type { Expr, Frame, Text, Work } from './level.ts'
import { rint } from './moment.ts'
import { raised, Unsupported } from './raised.ts'
import type { Json, Row, Value } from './value.ts'

/** Implicit: where an operator or a function wants it. Assigned: into a column. Explicit: by a cast. */
export type How = 'implicit' | 'assigned' | 'explicit'

export const constant = (kind: Kind, value: Value): Expr => ({ kind, work: () => value, isConstant: true })

/** What is always the same needs no frame. */
export const NOWHERE = null as unknown as Frame

export function coerced(expr: Expr, kind: Kind, text: Text, how: How = 'implicit'): Expr {
  if (expr.kind === kind) return expr
  if (expr.kind === UNKNOWN) return settled(expr, kind, text)
  const change = conversion(expr.kind, kind, how)
  if (!change) throw raised('42804', `${expr.kind.name} cannot become ${kind.name}`)
  const { work } = expr
  if (expr.isConstant) {
    const value = work(NOWHERE)
    return constant(kind, value === null ? null : change(value))
  }
  return { kind, work: (frame) => changed(work(frame), change) }
}

const changed = (value: Value, change: (value: Value) => Value) => (value === null ? null : change(value))

function settled(expr: Expr, kind: Kind, text: Text): Expr {
  const { param, literal } = expr
  if (param !== undefined) {
    const known = text.params[param]
    if (known && known !== kind) throw raised('42P08', `inconsistent types deduced for parameter $${param + 1}`)
    text.params[param] = kind
    return paramExpr(param, kind)
  }
  if (literal === undefined) throw new Unsupported('a value without a kind')
  return constant(kind, literal === null ? null : kind.parse(literal))
}

export function paramExpr(param: number, kind: Kind): Expr {
  return { kind, param, work: ({ run }) => run.params[param]! }
}

/** A value that nobody wanted in another kind is text. */
export const resolved = (expr: Expr, text: Text) => (expr.kind === UNKNOWN ? coerced(expr, TEXT, text) : expr)

const LADDER: readonly Kind[] = [INT2, INT4, INT8, NUMERIC, FLOAT8]

export const isNumber = (kind: Kind) => LADDER.includes(kind)

/** The kind that all of these can become without being asked. */
export function commonKind(kinds: readonly Kind[]): Kind {
  const known = kinds.filter((kind) => kind !== UNKNOWN)
  const [first = TEXT] = known
  if (known.every((kind) => kind === first)) return first
  if (known.every(isNumber)) return LADDER[Math.max(...known.map((kind) => LADDER.indexOf(kind)))]!
  throw raised('42804', `types ${[...new Set(known)].map(({ name }) => name).join(' and ')} cannot be matched`)
}

export function unified(exprs: readonly Expr[], text: Text): { readonly kind: Kind; readonly works: readonly Work[] } {
  const kind = commonKind(exprs.map((expr) => expr.kind))
  return { kind, works: exprs.map((expr) => coerced(expr, kind, text).work) }
}

type Change = (value: Value) => Value

const wholeFrom = (value: Value): bigint => rounded(value as Numeric, 0) as bigint

/** From each kind of number to each. */
const NUMBERS: Readonly<Record<string, Readonly<Record<string, Change>>>> = {
  int2: numbersFrom((value) => BigInt(value as number)),
  int4: numbersFrom((value) => BigInt(value as number)),
  int8: numbersFrom((value) => value as bigint),
  numeric: {
    ...numbersFrom(wholeFrom),
    float8: (value) => numericToNumber(value as Numeric),
  },
  float8: {
    ...numbersFrom((value) => BigInt(rint(value as number))),
    // Fifteen digits are what the server takes of a float.
    numeric: (value) => parseNumeric(String(Number((value as number).toPrecision(15)))),
  },
}

function numbersFrom(whole: (value: Value) => bigint): Readonly<Record<string, Change>> {
  return {
    int2: (value) => inRange('smallint', 16, Number(whole(value))),
    int4: (value) => inRange('integer', 32, Number(whole(value))),
    int8: (value) => int8InRange(whole(value)),
    numeric: (value) => whole(value),
    float8: (value) => Number(whole(value)),
  }
}

function conversion(from: Kind, to: Kind, how: How): Change | null {
  if (isNumber(from) && isNumber(to)) {
    const isNarrower = LADDER.indexOf(from) > LADDER.indexOf(to)
    return isNarrower && how === 'implicit' ? null : NUMBERS[from.name]![to.name]!
  }
  if (from.element && to.element) {
    const change = from.element === to.element ? (value: Value) => value : conversion(from.element, to.element, how)
    return change && ((value) => (value as Row).map((one) => changed(one, change)))
  }
  if (how === 'implicit') return from === REGCLASS && to === TEXT ? from.print : null
  if (to === TEXT) return (value) => from.print(value)
  if (how === 'assigned') return from === JSON_TEXT && to === JSONB ? (value) => parseJson(value as string) : null
  return cast(from, to)
}

function cast(from: Kind, to: Kind): Change | null {
  if (from === TEXT) return (value) => to.parse(value as string)
  if (from === JSON_TEXT && to === JSONB) return (value) => parseJson(value as string)
  if (from === JSONB && to === JSON_TEXT) return (value) => printJson((value as Json).json)
  if (from === BOOL && to === INT4) return (value) => (value ? 1 : 0)
  if (from === INT4 && to === BOOL) return (value) => value !== 0
  if (from === JSONB && (isNumber(to) || to === BOOL)) return (value) => scalarOf((value as Json).json, to)
  return null
}

function scalarOf(json: unknown, to: Kind): Value {
  if (json === null) return null
  if (to === BOOL && typeof json === 'boolean') return json
  if (typeof json !== 'number' || to === BOOL) throw raised('22023', `cannot cast jsonb to type ${to.name}`)
  return NUMBERS['numeric']![to.name]!(parseNumeric(String(json)))
}

/** With as many digits behind the point as its column keeps. */
export function scaled(expr: Expr, scale: number | null): Expr {
  if (scale === null || expr.kind !== NUMERIC) return expr
  const { work } = expr
  const change: Change = (value) =>
    scale === 0 && typeof value === 'bigint' ? value : rounded(value as Numeric, scale)
  if (expr.isConstant) return constant(NUMERIC, changed(work(NOWHERE), change))
  return { kind: NUMERIC, work: (frame) => changed(work(frame), change) }
}
