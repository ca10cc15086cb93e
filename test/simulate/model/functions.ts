import { coerced, constant, NOWHERE, resolved } from './coerce.ts'
import { ceilOf, divNumeric, floorOf, type Numeric, numericToNumber, parseNumeric, rounded } from './decimal.ts'
import { replacedAt, wrapped } from './document.ts'
import {
  BOOL,
  FLOAT8,
  INT4,
  INT8,
  INTERVAL,
  inJson,
  JSONB,
  type Kind,
  listOf,
  NUMERIC,
  REGCLASS,
  TEXT,
  TIMESTAMP,
  TIMESTAMPTZ,
  UUID,
  VOID,
} from './kinds.ts'
import type { Expr, Frame, Text } from './level.ts'
import { epochOf, formatOf, lengthOf, secondsInterval, truncated } from './moment.ts'
import { regexOf } from './operators.ts'
import { raised, Unsupported } from './raised.ts'
import { birthOf, LINEAGE } from './state.ts'
import type { Interval, Json, Row, Value } from './value.ts'

type Builtin = {
  readonly takes: readonly Kind[]
  readonly gives: Kind
  /** Never called with null. */
  apply(values: Row, frame: Frame): Value
  /** Not the same each time. */
  readonly isFresh?: boolean
}

const strings = (apply: (...words: string[]) => string, count = 1): Builtin => ({
  takes: Array.from({ length: count }, () => TEXT),
  gives: TEXT,
  apply: (values) => apply(...(values as readonly string[])),
})

const never = (what: string, takes: readonly Kind[], gives: Kind): Builtin => ({
  takes,
  gives,
  isFresh: true,
  apply() {
    throw new Unsupported(what)
  },
})

/** By name and number of arguments. Each gives null when it is given one. */
const BUILTINS: Readonly<Record<string, Builtin>> = {
  'now/0': { takes: [], gives: TIMESTAMPTZ, apply: (_, { run }) => run.store.begunAt, isFresh: true },
  'clock_timestamp/0': { takes: [], gives: TIMESTAMPTZ, apply: (_, { run }) => run.store.now(), isFresh: true },
  'gen_random_uuid/0': { takes: [], gives: UUID, apply: (_, { run }) => run.store.uuid(), isFresh: true },
  'lower/1': strings((word) => word.toLowerCase()),
  'upper/1': strings((word) => word.toUpperCase()),
  'repeat/2': { takes: [TEXT, INT4], gives: TEXT, apply: ([word, times]) => (word as string).repeat(times as number) },
  'length/1': { takes: [TEXT], gives: INT4, apply: ([word]) => [...(word as string)].length },
  'left/2': { takes: [TEXT, INT4], gives: TEXT, apply: ([word, count]) => leftOf(word as string, count as number) },
  'split_part/3': { takes: [TEXT, TEXT, INT4], gives: TEXT, apply: splitPart },
  'to_char/2': {
    takes: [TIMESTAMP, TEXT],
    gives: TEXT,
    apply: ([at, format]) => formatOf(format as string)(at as number),
  },
  'timezone/2': {
    takes: [TEXT, TIMESTAMPTZ],
    gives: TIMESTAMP,
    apply: ([zone, at]) => inUtc(zone as string, at as number),
  },
  'date_trunc/3': {
    takes: [TEXT, TIMESTAMPTZ, TEXT],
    gives: TIMESTAMPTZ,
    apply: ([unit, at, zone]) => truncated(unit as string, inUtc(zone as string, at as number)),
  },
  'jsonb_array_length/1': { takes: [JSONB], gives: INT4, apply: ([list]) => lengthOfList((list as Json).json) },
  'jsonb_set/3': {
    takes: [JSONB, listOf(TEXT), JSONB],
    gives: JSONB,
    apply: ([whole, path, value]) => wrapped(replacedAt((whole as Json).json, path as Row, (value as Json).json)),
  },
  'regexp_replace/3': {
    takes: [TEXT, TEXT, TEXT],
    gives: TEXT,
    apply: ([word, pattern, by]) =>
      (word as string).replace(regexOf(pattern as string), () => plainReplacement(by as string)),
  },
  'div/2': { takes: [NUMERIC, NUMERIC], gives: NUMERIC, apply: ([a, b]) => divNumeric(a as Numeric, b as Numeric) },
  'log/2': {
    takes: [NUMERIC, NUMERIC],
    gives: NUMERIC,
    apply: ([base, of]) => logarithm(base as Numeric, of as Numeric),
  },
  'hashtext/1': never('what a text hashes to', [TEXT], INT4),
  'hashtextextended/2': never('what a text hashes to', [TEXT, INT8], INT8),
  'to_regclass/1': {
    takes: [TEXT],
    gives: REGCLASS,
    isFresh: true,
    apply: ([name], { run }) => (run.seen.catalogue.tables.has(name as string) ? name! : null),
  },
  'set_config/3': { takes: [TEXT, TEXT, BOOL], gives: TEXT, apply: setConfig, isFresh: true },
  'current_setting/2': {
    takes: [TEXT, BOOL],
    gives: TEXT,
    isFresh: true,
    apply: ([name], { run: { store } }) =>
      store.localSettings.get(name as string) ?? store.settings.get(name as string) ?? null,
  },
}

const ROUTINES: Readonly<Record<string, Builtin>> = {
  'store_lineage/0': { takes: [], gives: TEXT, apply: () => LINEAGE, isFresh: true },
  'store_birth/0': { takes: [], gives: TEXT, apply: (_, { run }) => birthOf(run.store), isFresh: true },
}

export function functionExpr(name: string, args: readonly Expr[], text: Text): Expr {
  const signature = `${name}/${args.length}`
  const special = SPECIAL[name]?.(args, text)
  if (special) return special
  const builtin = BUILTINS[signature] ?? ROUTINES[signature]
  if (!builtin) throw new Unsupported('this function', signature)
  if (ROUTINES[signature] && !text.catalogue.routines.has(name))
    throw raised('42883', `function ${name}() does not exist`)
  return applied(builtin, args, text)
}

function applied({ takes, gives, apply, isFresh }: Builtin, args: readonly Expr[], text: Text): Expr {
  const given = args.map((arg, place) => coerced(arg, takes[place]!, text))
  const works = given.map(({ work }) => work)
  const work = (frame: Frame): Value => {
    const values: Value[] = []
    for (const one of works) {
      const value = one(frame)
      if (value === null) return null
      values.push(value)
    }
    return apply(values, frame)
  }
  const isConstant = !isFresh && given.every((arg) => arg.isConstant)
  return isConstant ? constant(gives, work(NOWHERE)) : { kind: gives, work }
}

type Special = (args: readonly Expr[], text: Text) => Expr

/** Those that look at the kinds of what they get, or take null for what it is. */
const SPECIAL: Readonly<Record<string, Special>> = {
  extract: ([what, from], text) => extracted(what!, from!, text),
  'make_interval secs': ([seconds], text) =>
    applied(
      { takes: [FLOAT8], gives: INTERVAL, apply: ([value]) => secondsInterval(value as number) },
      [seconds!],
      text,
    ),
  'make_interval mins': ([minutes], text) =>
    applied(
      { takes: [INT4], gives: INTERVAL, apply: ([value]) => secondsInterval(60 * (value as number)) },
      [minutes!],
      text,
    ),
  cardinality: ([list], text) =>
    applied(
      ofList(list!, INT4, (value) => value.length),
      [list!],
      text,
    ),
  ceil: (args, text) => roundedExpr(args[0]!, text, (value) => ceilOf(value)),
  floor: (args, text) => roundedExpr(args[0]!, text, (value) => floorOf(value)),
  round: (args, text) => roundedExpr(args[0]!, text, (value) => rounded(value, 0)),
  // One session waits for nobody, so what is locked need not be known.
  pg_advisory_xact_lock: (args, text) => {
    for (const arg of args) resolved(arg, text)
    return constant(VOID, '')
  },
  to_jsonb: ([arg], text) => {
    const { kind, work } = resolved(arg!, text)
    return { kind: JSONB, work: (frame) => documentOf(work(frame), kind) }
  },
  jsonb_build_array: (args, text) => {
    const parts = args.map((arg) => resolved(arg, text))
    return { kind: JSONB, work: (frame) => wrapped(parts.map(({ work, kind }) => inJson(work(frame), kind))) }
  },
  jsonb_build_object: (args, text) => builtObject(args.map((arg) => resolved(arg, text))),
  num_nonnulls: (args, text) => {
    const works = args.map((arg) => resolved(arg, text).work)
    return { kind: INT4, work: (frame) => works.filter((work) => work(frame) !== null).length }
  },
}

function documentOf(value: Value, kind: Kind): Json | null {
  return value === null ? null : wrapped(kind.toJson(value))
}

function builtObject(parts: readonly Expr[]): Expr {
  return {
    kind: JSONB,
    work(frame) {
      const members: Record<string, unknown> = {}
      for (let place = 0; place < parts.length; place += 2) {
        const name = parts[place]!.work(frame)
        if (name === null) throw raised('22023', 'argument of jsonb_build_object must not be null')
        const { work, kind } = parts[place + 1]!
        members[parts[place]!.kind.print(name)] = inJson(work(frame), kind)
      }
      return wrapped(members)
    },
  }
}

function ofList(list: Expr, gives: Kind, apply: (list: Row) => Value): Builtin {
  if (!list.kind.element) throw new Unsupported('this function of something that is no list')
  return { takes: [list.kind], gives, apply: ([value]) => apply(value as Row) }
}

function roundedExpr(arg: Expr, text: Text, apply: (value: Numeric) => Numeric): Expr {
  if (arg.kind === FLOAT8) throw new Unsupported('floats rounded by a function')
  return applied({ takes: [NUMERIC], gives: NUMERIC, apply: ([value]) => apply(value as Numeric) }, [arg], text)
}

function extracted(what: Expr, from: Expr, text: Text): Expr {
  const unit = what.literal
  if (unit !== 'epoch') throw new Unsupported('this part of a time', unit)
  if (from.kind === INTERVAL)
    return applied(
      { takes: [INTERVAL], gives: NUMERIC, apply: ([of]) => epochOf(lengthOf(of as Interval)) },
      [from],
      text,
    )
  return applied({ takes: [TIMESTAMPTZ], gives: NUMERIC, apply: ([at]) => epochOf(at as number) }, [from], text)
}

function inUtc(zone: string, at: number): number {
  if (zone.toLowerCase() !== 'utc') throw new Unsupported('times of a place', zone)
  return at
}

function plainReplacement(by: string): string {
  if (by.includes('\\')) throw new Unsupported('a replacement that refers to what it replaces')
  return by
}

function leftOf(word: string, count: number): string {
  if (count < 0) throw new Unsupported('all but the last letters')
  return [...word].slice(0, count).join('')
}

function splitPart([word, separator, at]: Row): string {
  const parts = (word as string).split(separator as string)
  return parts.at((at as number) > 0 ? (at as number) - 1 : (at as number)) ?? ''
}

function lengthOfList(json: unknown): number {
  if (!Array.isArray(json)) throw raised('22023', 'cannot get array length of a non-array')
  return json.length
}

/** Whoever asks keeps its whole part; the server has sixteen digits behind the point. */
function logarithm(base: Numeric, of: Numeric): Numeric {
  if (base !== 2n) throw new Unsupported('logarithms but to base 2')
  return rounded(parseNumeric(String(Math.log2(numericToNumber(of)))), 16)
}

function setConfig([name, value, isLocal]: Row, { run: { store } }: Frame): Value {
  const settings = isLocal ? store.localSettings : store.settings
  settings.set(name as string, value as string)
  return value!
}
