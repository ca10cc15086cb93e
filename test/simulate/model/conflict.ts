import type { InferClause, OnConflictClause } from 'libpg-query'
import { spelled } from './ast.ts'
import type { Table } from './catalogue.ts'
import { conditionOf } from './expression.ts'
import { holderOf } from './heap.ts'
import { addItem, type Frame, fieldsOf, type Item, type Level, type Run, type Work } from './level.ts'
import { changedRow, namesOf, type Setting, settingsOf } from './modification.ts'
import { raised } from './raised.ts'
import { rulesOf, type UniqueRule } from './rules.ts'
import type { Row } from './value.ts'
import { demandRules, insertRow, updateRow } from './write.ts'

/** What becomes of a row whose key is taken. */
export type Conflict = {
  /** The keys that count. */
  readonly uniques: readonly UniqueRule[]
  readonly excluded: Item
  /** Null: nothing is done. */
  readonly settings: readonly Setting[] | null
  readonly where: Work | null
}

export function conflictOf(
  { action, infer, targetList, whereClause }: OnConflictClause,
  table: Table,
  level: Level,
): Conflict {
  const uniques = infer ? inferred(infer, table) : rulesOf(table).uniques
  const excluded = addItem(level, 'excluded', fieldsOf(table), true)
  const settings = action === 'ONCONFLICT_UPDATE' ? settingsOf(targetList, table, level) : null
  const where = whereClause ? conditionOf(whereClause, level).work : null
  return { uniques, excluded, settings, where }
}

function inferred({ conname, indexElems, whereClause }: InferClause, table: Table): readonly UniqueRule[] {
  const { uniques } = rulesOf(table)
  const elements = (indexElems ?? []).map((node) => {
    if (!('IndexElem' in node)) return ''
    const { name, expr } = node.IndexElem
    return spelled(name ? { ColumnRef: { fields: [{ String: { sval: name } }] } } : expr)
  })
  const where = spelled(whereClause)
  const found = uniques.filter((unique) =>
    conname
      ? unique.name === conname
      : unique.elements.length === elements.length &&
        unique.elements.every((element) => elements.includes(element)) &&
        (unique.where === 'null' || unique.where === where),
  )
  if (found.length > 0) return found
  if (conname) throw raised('42704', `constraint "${conname}" for table "${table.name}" does not exist`)
  throw raised('42P10', 'there is no unique or exclusion constraint matching the ON CONFLICT specification')
}

type Writing = { readonly run: Run; readonly table: Table; readonly item: Item; readonly touched: Set<Row> }

/** The row as it is in the end; null when none was written. */
export function onConflict({ run, table, item, touched }: Writing, conflict: Conflict, row: Row): Row | null {
  const { uniques, excluded, settings, where } = conflict
  const holder = uniques.map((unique) => holderOf(run, table, unique, row)).find((one) => one !== undefined)
  if (!holder) {
    const inserted = insertRow(run, table, row)
    touched.add(inserted)
    return inserted
  }
  demandRules(run, table, row)
  if (!settings) return null
  if (touched.has(holder)) throw raised('21000', 'ON CONFLICT DO UPDATE command cannot affect row a second time')
  const frame: Frame = { rows: [], up: null, run, sums: [] }
  frame.rows[item.slot] = holder
  frame.rows[excluded.slot] = row
  if (where && where(frame) !== true) return null
  const change = { row: changedRow(frame, table, holder, settings), set: namesOf(table, settings) }
  const updated = updateRow(run, table, holder, change)
  touched.add(updated)
  return updated
}
