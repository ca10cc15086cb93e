import type { Node } from 'libpg-query'
import { spelled } from './ast.ts'
import { NO_TABLES, placeOf, type Table, type Trigger } from './catalogue.ts'
import { coerced, constant, scaled } from './coerce.ts'
import { conditionOf, exprOf } from './expression.ts'
import { type Kind, keyOf as keyOfAll } from './kinds.ts'
import { addItem, type Expr, type Frame, fieldsOf, type Level, levelIn, newText, type Run, type Work } from './level.ts'
import { Unsupported } from './raised.ts'
import type { Key, Row, Value } from './value.ts'

export type UniqueRule = {
  readonly name: string
  /** The columns, when it is of plain columns and of all rows. */
  readonly places: readonly number[] | null
  /** How it is spelled, by which `on conflict` finds it. */
  readonly elements: readonly string[]
  readonly where: string
  keyOf(values: Row): Key
  /** Null: this row is not in it. */
  keyIn(row: Row, run: Run): Key | null
}

export type Rules = {
  readonly defaults: readonly Expr[]
  readonly checks: readonly { readonly name: string; readonly work: Work }[]
  readonly uniques: readonly UniqueRule[]
  readonly triggers: readonly (Omit<Trigger, 'when'> & { readonly when: Work | null })[]
}

const known = new WeakMap<Table, Rules>()

/** What a table demands of its rows, ready to be asked. */
export function rulesOf(table: Table): Rules {
  let rules = known.get(table)
  if (!rules) {
    rules = {
      defaults: table.columns.map((column) => defaultOf(column)),
      checks: table.checks
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map(({ name, rule }) => ({
          name,
          work: conditionOf(rule, levelOf(table)).work,
        })),
      uniques: table.uniques.map((unique) => uniqueRule(table, unique)),
      triggers: table.triggers.map((trigger) => ({ ...trigger, when: whenOf(table, trigger) })),
    }
    known.set(table, rules)
  }
  return rules
}

/** One row, and nothing else. */
export function levelOf(table: Table, ...names: readonly string[]): Level {
  const level = levelIn(newText(NO_TABLES), null)
  for (const name of names.length > 0 ? names : [table.name]) addItem(level, name, fieldsOf(table))
  return level
}

export const frameOf = (run: Run, ...rows: Row[]): Frame => ({ rows, up: null, run, sums: [] })

function defaultOf({ byDefault, kind, scale }: Table['columns'][number]): Expr {
  if (!byDefault) return constant(kind, null)
  const level = levelIn(newText(NO_TABLES), null)
  return scaled(coerced(exprOf(byDefault, level), kind, level.text, 'assigned'), scale)
}

function whenOf(table: Table, { when }: Trigger): Work | null {
  return when && conditionOf(when, levelOf(table, 'new', 'old')).work
}

function uniqueRule(table: Table, { name, elements, where }: Table['uniques'][number]): UniqueRule {
  const level = levelOf(table)
  const nodes = elements.map(({ name: column, expr }): Node => {
    if (column) return { ColumnRef: { fields: [{ String: { sval: column } }] } }
    if (expr) return expr
    throw new Unsupported('this index', name)
  })
  const exprs = nodes.map((node) => exprOf(node, level))
  const kinds = exprs.map(({ kind }) => kind)
  const condition = where ? conditionOf(where, level).work : null
  const isPlain = !where && elements.every((element) => element.name)
  const keyOf = keyMaker(kinds)
  return {
    name,
    places: isPlain ? elements.map((element) => placeOf(table, element.name!)) : null,
    elements: nodes.map(spelled),
    where: spelled(where),
    keyOf,
    keyIn(row, run) {
      const frame = frameOf(run, row)
      if (condition && condition(frame) !== true) return null
      const values: Value[] = []
      for (const { work } of exprs) {
        const value = work(frame)
        if (value === null) return null
        values.push(value)
      }
      return keyOf(values)
    },
  }
}

function keyMaker(kinds: readonly Kind[]): (values: Row) => Key {
  const [first] = kinds
  if (kinds.length === 1) return (values) => first!.key(values[0]!)
  return (values) => keyOfAll(values, (place) => kinds[place]!)
}
