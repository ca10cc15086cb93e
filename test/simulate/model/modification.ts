import type { DeleteStmt, InsertStmt, Node, UpdateStmt } from 'libpg-query'
import { placeOf, type Table, tableNamed } from './catalogue.ts'
import { conflictOf, onConflict } from './conflict.ts'
import { exprOf } from './expression.ts'
import { conditionsIn, joinedReach, leaf, place, reachOf } from './from.ts'
import { isThere } from './heap.ts'
import { loopOf } from './join.ts'
import { addItem, type Frame, fieldsOf, type Item, type Level, levelIn, type Run } from './level.ts'
import { addParts, type Planned, type Query, selectOf, wanted } from './query.ts'
import { raised, Unsupported } from './raised.ts'
import { projection, targetsOf } from './select.ts'
import type { Row, Value } from './value.ts'
import { defaultAt, deleteRow, insertRow, refuseReadOnly, updateRow } from './write.ts'

/** A statement that writes. Its rows are what it returns; without a word about that, an empty one for each that it wrote. */
export function modificationOf(node: Node, up: Level): Planned | null {
  if ('InsertStmt' in node) return insertion(node.InsertStmt, levelIn(up.text, up))
  if ('UpdateStmt' in node) return update(node.UpdateStmt, levelIn(up.text, up))
  if ('DeleteStmt' in node) return deletion(node.DeleteStmt, levelIn(up.text, up))
  return null
}

function insertion(node: InsertStmt, level: Level): Planned {
  if (node.withClause) addParts(node.withClause, level)
  const table = tableNamed(level.text.catalogue, node.relation!.relname!)
  const places = node.cols?.map((col) => placeOf(table, columnOf(col))) ?? table.columns.map((_, nth) => nth)
  const source = sourceOf(node, table, places, level)
  for (const nth of source.given)
    if (table.columns[places[nth]!]!.identity?.isAlways && node.override !== 'OVERRIDING_SYSTEM_VALUE')
      throw raised('428C9', `cannot insert a non-DEFAULT value into column "${table.columns[places[nth]!]!.name}"`)
  const item = addItem(level, node.relation!.alias?.aliasname ?? table.name, fieldsOf(table))
  const conflict = node.onConflictClause ? conflictOf(node.onConflictClause, table, level) : null
  const returning = returningOf(node.returningClause?.exprs, level)
  const rows = (run: Run): readonly Row[] => {
    refuseReadOnly(run)
    const frame: Frame = { rows: [], up: null, run, sums: [] }
    const written = source.rows(frame).map((values) => completed(run, table, places, values))
    const touched = new Set<Row>()
    return written.flatMap((row) => {
      const kept = conflict ? onConflict({ run, table, item, touched }, conflict, row) : insertRow(run, table, row)
      return kept ? returning.rows(frame, item, kept) : []
    })
  }
  return { fields: returning.fields, rows: (run) => rows(run), isBound: false }
}

function columnOf(node: Node): string {
  if ('ResTarget' in node && !node.ResTarget.indirection) return node.ResTarget.name!
  throw new Unsupported('this column', node)
}

/** Of each row what is given, `undefined` where it is what the column holds by default. */
type Source = { readonly given: readonly number[]; rows(frame: Frame): readonly (readonly (Value | undefined)[])[] }

function sourceOf({ selectStmt }: InsertStmt, table: Table, places: readonly number[], level: Level): Source {
  if (!selectStmt) return { given: [], rows: () => [[]] }
  if (!('SelectStmt' in selectStmt)) throw new Unsupported('this source of rows', selectStmt)
  const { SelectStmt: select } = selectStmt
  if (select.valuesLists && !select.withClause) return valuesSource(select.valuesLists, table, places, level)
  const query = selectOf(select, level)
  if (query.names.length > places.length) throw raised('42601', 'INSERT has more expressions than target columns')
  const rowsOf = settledQuery(query, table, places)
  const given = query.names.map((_, nth) => nth)
  return { given, rows: (frame) => rowsOf(frame.run, frame, Number.POSITIVE_INFINITY) }
}

function settledQuery(query: Query, table: Table, places: readonly number[]) {
  for (const nth of query.names.keys()) {
    const { kind, scale } = table.columns[places[nth]!]!
    query.want(nth, kind, { scale })
  }
  return query.finish()
}

function valuesSource(lists: readonly Node[], table: Table, places: readonly number[], level: Level): Source {
  const rows = lists.map((list) => {
    if (!('List' in list)) throw new Unsupported('these values', list)
    return (list.List.items ?? []).map((node, nth) => assigned(node, table, places[nth]!, level))
  })
  const given = [...new Set(rows.flatMap((row) => row.flatMap((expr, nth) => (expr ? [nth] : []))))]
  return { given, rows: (frame) => rows.map((row) => row.map((expr) => expr?.work(frame))) }
}

/** What is written into a column; null for what it holds by default. */
export function assigned(node: Node, table: Table, place: number, level: Level) {
  if ('SetToDefault' in node) return null
  const column = table.columns[place]!
  return wanted(exprOf(node, level), column.kind, level, column)
}

function completed(run: Run, table: Table, places: readonly number[], values: readonly (Value | undefined)[]): Row {
  return table.columns.map((_, place) => {
    const value = values[places.indexOf(place)]
    return value === undefined ? defaultAt(run, table, place) : value
  })
}

type Returning = Pick<Planned, 'fields'> & { rows(frame: Frame, item: Item, row: Row): readonly Row[] }

const NOTHING: Row = Object.freeze([])

function returningOf(nodes: readonly Node[] | undefined, level: Level): Returning {
  if (!nodes) return { fields: [], rows: () => [NOTHING] }
  const targets = targetsOf(nodes, level)
  const project = projection(targets)
  return {
    fields: targets.map(({ name, expr }) => ({ name, kind: expr.kind })),
    rows(frame, { slot }, row) {
      frame.rows[slot] = row
      return project(frame)
    },
  }
}

export type Setting = { readonly place: number; readonly work: ((frame: Frame) => Value) | null }

export function settingsOf(nodes: readonly Node[] | undefined, table: Table, level: Level): readonly Setting[] {
  return (nodes ?? []).map((node) => {
    const place = placeOf(table, columnOf(node))
    if (!('ResTarget' in node)) throw new Unsupported('this setting', node)
    return { place, work: assigned(node.ResTarget.val!, table, place, level)?.work ?? null }
  })
}

/** The row with what is set in it. */
export function changedRow(frame: Frame, table: Table, old: Row, settings: readonly Setting[]): Row {
  const row = [...old]
  for (const { place, work } of settings) row[place] = work ? work(frame) : defaultAt(frame.run, table, place)
  return row
}

export const namesOf = (table: Table, settings: readonly Setting[]) =>
  settings.map(({ place }) => table.columns[place]!.name)

/** Rows of a table that are to be written, each with the rows beside it. */
type Targets = { readonly table: Table; readonly item: Item; find(run: Run): readonly Frame[] }

function targetsIn(
  { relation, withClause }: UpdateStmt | DeleteStmt,
  beside: readonly Node[] | undefined,
  level: Level,
): Targets & { where(node: Node | undefined): void } {
  if (withClause) addParts(withClause, level)
  const table = tableNamed(level.text.catalogue, relation!.relname!)
  const { id } = table
  const item = addItem(level, relation!.alias?.aliasname ?? table.name, fieldsOf(table))
  const target = leaf(item, table, ({ run }) => run.seen.heaps[id]!.rows)
  const others = reachOf(beside, level)
  const reach = others ? joinedReach(others, target, false) : target
  let loop = loopOf(null)
  const first: ((frame: Frame) => Value)[] = []
  return {
    table,
    item,
    where(node) {
      for (const condition of node ? conditionsIn(node, level) : [])
        if (condition.slots.size === 0) first.push(condition.work)
        else place(condition, reach, new Set())
      loop = loopOf(reach)
    },
    find(run) {
      refuseReadOnly(run)
      const frame: Frame = { rows: new Array(level.slots.count), up: null, run, sums: [] }
      if (!first.every((work) => work(frame) === true)) return []
      const found = new Map<Row, Frame>()
      loop(frame, () => {
        const row = frame.rows[item.slot]!
        if (!found.has(row)) found.set(row, { ...frame, rows: frame.rows.slice() })
        return false
      })
      return [...found.values()].filter((at) => isThere(run, table, at.rows[item.slot]!))
    },
  }
}

function update(node: UpdateStmt, level: Level): Planned {
  const targets = targetsIn(node, node.fromClause, level)
  const { table, item } = targets
  const settings = settingsOf(node.targetList, table, level)
  targets.where(node.whereClause)
  const returning = returningOf(node.returningClause?.exprs, level)
  const set = namesOf(table, settings)
  const rows = (run: Run) =>
    targets.find(run).flatMap((frame) => {
      const old = frame.rows[item.slot]!
      const row = updateRow(run, table, old, { row: changedRow(frame, table, old, settings), set })
      return returning.rows(frame, item, row)
    })
  return { fields: returning.fields, rows: (run) => rows(run), isBound: false }
}

function deletion(node: DeleteStmt, level: Level): Planned {
  const targets = targetsIn(node, node.usingClause, level)
  const { table, item } = targets
  targets.where(node.whereClause)
  const returning = returningOf(node.returningClause?.exprs, level)
  const rows = (run: Run) =>
    targets.find(run).flatMap((frame) => {
      const old = frame.rows[item.slot]!
      deleteRow(run, table, old)
      return returning.rows(frame, item, old)
    })
  return { fields: returning.fields, rows: (run) => rows(run), isBound: false }
}
