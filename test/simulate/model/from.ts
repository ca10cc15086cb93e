import type { JoinExpr, Node, RangeSubselect, RangeVar } from 'libpg-query'
import { lastWord, wordsOf } from './ast.ts'
import { type Table, tableNamed } from './catalogue.ts'
import { coerced, commonKind } from './coerce.ts'
import { conditionOf, exprOf } from './expression.ts'
import { type Field, INT8, TEXT } from './kinds.ts'
import { addItem, type Frame, fieldsOf, type Item, type Level, partNamed, type Work } from './level.ts'
import { plannedQuery, queryOf } from './query.ts'
import { Unsupported } from './raised.ts'
import { rangeFunction } from './rows.ts'
import type { Row } from './value.ts'

/** A condition, and the tables of this level that it looks at. */
export type Condition = { readonly work: Work; readonly slots: ReadonlySet<number>; readonly equality: Equality | null }

/** `column = something`: where it stands, a row may be looked up. */
export type Equality = {
  readonly slot: number
  readonly place: number
  readonly other: Work
  readonly others: ReadonlySet<number>
}

/** What a `from` reaches: a table, or two sides that are joined. */
export type Reach = {
  readonly slots: ReadonlySet<number>
  readonly filters: Condition[]
  readonly item: Item | null
  readonly table: Table | null
  readonly rows: ((frame: Frame) => readonly Row[]) | null
  readonly sides: readonly [Reach, Reach] | null
  /** Rows of the left side stay when there is nothing for them on the right. */
  readonly isOuter: boolean
}

export const NO_SLOTS: ReadonlySet<number> = new Set()

export const union = (a: ReadonlySet<number>, b: ReadonlySet<number>): ReadonlySet<number> => new Set([...a, ...b])
export const isWithin = (a: ReadonlySet<number>, b: ReadonlySet<number>) => [...a].every((one) => b.has(one))

export function reachOf(nodes: readonly Node[] | undefined, level: Level): Reach | null {
  const reaches = (nodes ?? []).map((node) => oneReach(node, level))
  return reaches.reduce<Reach | null>((left, right) => (left ? joinedReach(left, right, false) : right), null)
}

export function joinedReach(left: Reach, right: Reach, isOuter: boolean): Reach {
  const slots = union(left.slots, right.slots)
  return { slots, filters: [], item: null, table: null, rows: null, sides: [left, right], isOuter }
}

function oneReach(node: Node, level: Level): Reach {
  if ('RangeVar' in node) return ofTable(node.RangeVar, level)
  if ('JoinExpr' in node) return ofJoin(node.JoinExpr, level)
  if ('RangeSubselect' in node) return ofQuery(node.RangeSubselect, level)
  if ('RangeFunction' in node) {
    const { name, fields, rows } = rangeFunction(node.RangeFunction, level)
    return leaf(addItem(level, name, fields), null, rows)
  }
  throw new Unsupported('this in a from', node)
}

export function leaf(item: Item, table: Table | null, rows: (frame: Frame) => readonly Row[]): Reach {
  return { slots: new Set([item.slot]), filters: [], item, table, rows, sides: null, isOuter: false }
}

function ofTable({ relname, schemaname, alias }: RangeVar, level: Level): Reach {
  if (schemaname && schemaname !== 'public') throw new Unsupported('tables of a schema', schemaname)
  const name = alias?.aliasname ?? relname!
  const part = partNamed(level, relname!)
  if (part) {
    const fields = renamed(part.fields, alias?.colnames)
    return leaf(addItem(level, name, fields), null, ({ run }) => part.rows(run, null, Number.POSITIVE_INFINITY))
  }
  if (relname === 'pg_prepared_statements') {
    return leaf(addItem(level, name, PREPARED), null, ({ run }) =>
      [...run.store.prepared].map(([one, uses]) => [one, uses, 0n]),
    )
  }
  const table = tableNamed(level.text.catalogue, relname!)
  const { id } = table
  const item = addItem(level, name, renamed(fieldsOf(table), alias?.colnames))
  return leaf(item, table, ({ run }) => run.seen.heaps[id]!.rows)
}

const PREPARED: readonly Field[] = [
  { name: 'name', kind: TEXT },
  { name: 'generic_plans', kind: INT8 },
  { name: 'custom_plans', kind: INT8 },
]

function renamed(fields: readonly Field[], nodes: readonly Node[] | undefined): readonly Field[] {
  const names = wordsOf(nodes)
  return names.length === 0 ? fields : fields.map((field, place) => ({ ...field, name: names[place] ?? field.name }))
}

function ofQuery({ lateral, subquery, alias }: RangeSubselect, level: Level): Reach {
  // Without the word it sees nothing of what stands beside it.
  const around: Level = lateral ? level : { ...level, items: [] }
  const plan = plannedQuery(level, () => queryOf(subquery!, around))
  const item = addItem(level, alias?.aliasname ?? '', renamed(plan.fields, alias?.colnames))
  const all = Number.POSITIVE_INFINITY
  if (plan.isBound) return leaf(item, null, (frame) => plan.rows(frame.run, frame, all))
  return leaf(item, null, (frame) => {
    const { found } = frame.run
    const known = found.get(plan) as readonly Row[] | undefined
    if (known) return known
    const rows = plan.rows(frame.run, frame, all)
    found.set(plan, rows)
    return rows
  })
}

function ofJoin({ jointype, larg, rarg, quals, usingClause, isNatural, alias }: JoinExpr, level: Level): Reach {
  const isOuter = jointype === 'JOIN_LEFT'
  if ((!isOuter && jointype !== 'JOIN_INNER') || usingClause || isNatural || alias)
    throw new Unsupported('this join', jointype)
  const [left, right] = [oneReach(larg!, level), oneReach(rarg!, level)]
  const join = joinedReach(left, right, isOuter)
  for (const condition of quals ? conditionsIn(quals, level) : [])
    if (isOuter) place(condition, right, left.slots)
    else place(condition, join, NO_SLOTS)
  return join
}

/** The parts of a condition that all have to hold. */
export function conditionsIn(node: Node, level: Level): readonly Condition[] {
  if ('BoolExpr' in node && node.BoolExpr.boolop === 'AND_EXPR')
    return (node.BoolExpr.args ?? []).flatMap((arg) => conditionsIn(arg, level))
  const { uses } = level.text
  const before = uses.length
  const equality = equalityIn(node, level)
  if (equality) uses.length = before
  const { work } = conditionOf(node, level)
  return [{ work, slots: slotsSince(before, level), equality }]
}

const slotsSince = (before: number, { text, depth }: Level) =>
  new Set(text.uses.slice(before).flatMap((use) => (use.depth === depth ? [use.slot] : [])))

function equalityIn(node: Node, level: Level): Equality | null {
  if (!('A_Expr' in node) || node.A_Expr.kind !== 'AEXPR_OP' || lastWord(node.A_Expr.name) !== '=') return null
  const { lexpr, rexpr } = node.A_Expr
  if (!lexpr || !rexpr || 'RowExpr' in lexpr) return null
  return equalityOf(lexpr, rexpr, level) ?? equalityOf(rexpr, lexpr, level)
}

function equalityOf(column: Node, other: Node, level: Level): Equality | null {
  if (!('ColumnRef' in column)) return null
  const { uses } = level.text
  const before = uses.length
  const left = exprOf(column, level)
  const use = uses.at(-1)
  if (!use || use.depth !== level.depth || uses.length !== before + 1 || left.kind.fields) return null
  const name = lastWord(column.ColumnRef.fields)
  const item = level.items.find(({ slot }) => slot === use.slot)!
  const from = uses.length
  const right = exprOf(other, level)
  const others = slotsSince(from, level)
  const kind = commonKind([left.kind, right.kind])
  if (kind !== left.kind || others.has(use.slot)) return null
  const place = item.fields.findIndex((field) => field.name === name)
  return { slot: use.slot, place, other: coerced(right, kind, level.text).work, others }
}

/** As early as all that it looks at is there. */
export function place(condition: Condition, reach: Reach, before: ReadonlySet<number>): void {
  const { sides, filters, isOuter } = reach
  if (sides) {
    const [left, right] = sides
    const there = union(before, left.slots)
    if (isWithin(condition.slots, there)) place(condition, left, before)
    else if (isOuter) filters.push(condition)
    else place(condition, right, there)
  } else filters.push(condition)
}
