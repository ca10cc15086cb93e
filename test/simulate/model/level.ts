import type { ColumnRef } from 'libpg-query'
import { wordOf } from './ast.ts'
import type { Catalogue, Table } from './catalogue.ts'
import { type Field, type Kind, rowOf, TID } from './kinds.ts'
import { raised } from './raised.ts'
import type { State, Store } from './state.ts'
import type { Row, Value } from './value.ts'

/** One run of one statement. */
export type Run = {
  readonly store: Store
  readonly params: readonly Value[]
  /** What all parts of the statement see. */
  readonly seen: State
  /** Rows of a `with` part, and of whatever needs to be found out only once. */
  readonly found: Map<object, unknown>
  /** Tables that this statement has copied, to write into them. */
  readonly opened: Set<number>
  /** What is looked at when all is written. */
  readonly later: (() => void)[]
  /** What triggers do after that. */
  readonly after: (() => void)[]
}

/** Where an expression is worked out: a row of each table in reach, and the frame of the query around this one. */
export type Frame = {
  readonly rows: Row[]
  readonly up: Frame | null
  readonly run: Run
  /** Of a group: its sums. Of a row of a window: its places. */
  sums: readonly Value[]
}

export type Work = (frame: Frame) => Value

/** An expression, ready to be worked out. One without a kind is a literal or a parameter that takes the kind that is wanted. */
export type Expr = {
  readonly kind: Kind
  readonly work: Work
  /** The text of a literal; null for `null`. */
  readonly literal?: string | null
  /** The number of a parameter. */
  readonly param?: number
  /** Always the same. */
  readonly isConstant?: boolean
}

/** What can be named: a table, a query, a function of rows. */
export type Item = {
  readonly name: string
  readonly fields: readonly Field[]
  readonly slot: number
  /** Stands for a row where there is none, in an outer join. */
  readonly nothing: Row
  /** Its columns are only found by its name: `excluded`. */
  readonly isApart?: boolean
}

/** At least so many rows, if there are as many: whoever wants to know whether there is one need not see all. */
export type RowsOf = (run: Run, up: Frame | null, atMost: number) => readonly Row[]

/** A part of a `with`. */
export type Part = { readonly fields: readonly Field[]; readonly rows: RowsOf }

export type Sum = {
  readonly begin: () => Total
  readonly filter: Work | null
  readonly argument: Work | null
}
export type Total = { add(value: Value): void; value(): Value }

export type Window = { readonly partition: readonly Expr[]; readonly order: readonly SortKey[] }
export type SortKey = { readonly expr: Expr; readonly isDescending: boolean; readonly isNullFirst: boolean }

/** A query, or a statement, with what it can name. */
export type Level = {
  readonly up: Level | null
  readonly depth: number
  readonly items: Item[]
  readonly slots: { count: number }
  readonly parts: Map<string, Part>
  readonly text: Text
  /** Null where none may be. */
  sums: Sum[] | null
  windows: Window[] | null
}

/** Of the whole text of a statement. */
export type Text = {
  readonly catalogue: Catalogue
  /** Kinds of the parameters, as far as they are known. */
  readonly params: (Kind | null)[]
  /** What has been named, in the order in which it was met. */
  readonly uses: { readonly depth: number; readonly slot: number }[]
  /** Parts that write, and do so whether anybody looks at them or not. */
  readonly writing: Part[]
}

export const newText = (catalogue: Catalogue): Text => ({ catalogue, params: [], uses: [], writing: [] })

export function levelIn(text: Text, up: Level | null): Level {
  const depth = up ? up.depth + 1 : 0
  return { up, depth, items: [], slots: { count: 0 }, parts: new Map(), text, sums: null, windows: null }
}

export function addItem(level: Level, name: string, fields: readonly Field[], isApart = false): Item {
  if (level.items.some((one) => one.name === name && name !== ''))
    throw raised('42712', `table name "${name}" specified more than once`)
  const nothing = Object.freeze(fields.map(() => null))
  const item: Item = { name, fields, slot: level.slots.count++, nothing, ...(isApart ? { isApart } : {}) }
  level.items.push(item)
  return item
}

export const fieldsOf = ({ columns }: Table): readonly Field[] => columns.map(({ name, kind }) => ({ name, kind }))

export function partNamed(level: Level | null, name: string): Part | undefined {
  for (let at = level; at; at = at.up) {
    const part = at.parts.get(name)
    if (part) return part
  }
  return undefined
}

/** `a`, `t.a`, or a whole row by the name of its table. */
export function columnExpr({ fields = [] }: ColumnRef, level: Level): Expr {
  const names = fields.map(wordOf)
  const found =
    names.length === 1 ? byName(names[0]!, level) : names.length === 2 ? byTable(names[0]!, names[1]!, level) : null
  if (found) return found
  if (names.length === 1 && names[0] === 'ctid') return placeExpr(level)
  const whole = names.length === 1 ? wholeRow(names[0]!, level) : null
  if (whole) return whole
  throw raised('42703', `column "${names.join('.')}" does not exist`)
}

function byName(name: string, level: Level): Expr | null {
  for (let at: Level | null = level; at; at = at.up) {
    const found = at.items.flatMap((item) =>
      item.isApart ? [] : item.fields.flatMap((field, place) => (field.name === name ? [{ item, place }] : [])),
    )
    if (found.length > 1) throw raised('42702', `column reference "${name}" is ambiguous`)
    if (found.length === 1) return cell(found[0]!.item, found[0]!.place, level, at)
  }
  return null
}

function byTable(table: string, name: string, level: Level): Expr | null {
  for (let at: Level | null = level; at; at = at.up) {
    const item = at.items.find((one) => one.name === table)
    if (!item) continue
    const place = item.fields.findIndex((field) => field.name === name)
    if (place < 0) throw raised('42703', `column ${table}.${name} does not exist`)
    return cell(item, place, level, at)
  }
  throw raised('42P01', `missing FROM-clause entry for table "${table}"`)
}

export function cell(item: Item, place: number, level: Level, at: Level): Expr {
  const { slot, fields } = item
  level.text.uses.push({ depth: at.depth, slot })
  return { kind: fields[place]!.kind, work: cellWork(level.depth - at.depth, slot, place) }
}

function cellWork(distance: number, slot: number, place: number): Work {
  if (distance === 0) return ({ rows }) => rows[slot]![place]!
  if (distance === 1) return ({ up }) => up!.rows[slot]![place]!
  return (frame) => {
    let at = frame
    for (let step = 0; step < distance; step++) at = at.up!
    return at.rows[slot]![place]!
  }
}

const places = new WeakMap<Row, number>()
let placesGiven = 0

function placeExpr(level: Level): Expr {
  const [item] = level.items
  if (!item) throw raised('42703', 'column "ctid" does not exist')
  level.text.uses.push({ depth: level.depth, slot: item.slot })
  const placeOf = (row: Row) => {
    const place = places.get(row) ?? ++placesGiven
    places.set(row, place)
    return place
  }
  return { kind: TID, work: ({ rows }) => placeOf(rows[item.slot]!) }
}

function wholeRow(name: string, level: Level): Expr | null {
  for (let at: Level | null = level; at; at = at.up) {
    const item = at.items.find((one) => one.name === name)
    if (!item) continue
    const { slot, nothing } = item
    const distance = level.depth - at.depth
    level.text.uses.push({ depth: at.depth, slot })
    const work: Work = (frame) => {
      let there = frame
      for (let step = 0; step < distance; step++) there = there.up!
      const row = there.rows[slot]!
      return row === nothing ? null : row
    }
    return { kind: rowOf(item.fields), work }
  }
  return null
}
