import { type Event, placeOf, type Table, tableNamed } from './catalogue.ts'
import { holderOf, putRow, replaceRow } from './heap.ts'
import { childrenGone, parentsThere } from './keys.ts'
import type { Run } from './level.ts'
import { raised } from './raised.ts'
import { ROUTINES } from './routines.ts'
import { frameOf, rulesOf, type UniqueRule } from './rules.ts'
import { nextOf } from './state.ts'
import type { Row, Value } from './value.ts'

// Every way in which a row is written, with all that its table demands.

export function refuseReadOnly({ store }: Run): void {
  if (store.isReadOnly) throw raised('25006', 'cannot execute this in a read-only transaction')
}

/** What a column holds when nobody gives it anything. */
export function defaultAt(run: Run, table: Table, place: number): Value {
  const { identity } = table.columns[place]!
  return identity ? nextOf(run.store, identity.sequence) : rulesOf(table).defaults[place]!.work(frameOf(run))
}

export function insertRow(run: Run, table: Table, row: Row): Row {
  demandRules(run, table, row)
  for (const unique of rulesOf(table).uniques) if (holderOf(run, table, unique, row)) throw taken(table, unique)
  putRow(run, table, row)
  parentsThere(run, table, row, null)
  fire(run, table, 'insert', { old: null, row, set: [] })
  return row
}

/** By its columns' names; all others hold what they hold by default. */
export function insertNamed(run: Run, name: string, values: Readonly<Record<string, Value>>): void {
  const table = tableNamed(run.store.state.catalogue, name)
  const row = table.columns.map((column, place) =>
    Object.hasOwn(values, column.name) ? values[column.name]! : defaultAt(run, table, place),
  )
  insertRow(run, table, row)
}

export function updateRow(
  run: Run,
  table: Table,
  old: Row,
  change: { readonly row: Row; readonly set: readonly string[] },
): Row {
  const { set } = change
  const row = firedBefore(run, table, 'update', { old, row: change.row, set })
  demandRules(run, table, row)
  for (const unique of rulesOf(table).uniques) {
    if (unique.keyIn(old, run) === unique.keyIn(row, run)) continue
    const holder = holderOf(run, table, unique, row)
    if (holder && holder !== old) throw taken(table, unique)
  }
  replaceRow(run, table, old, row)
  parentsThere(run, table, row, old)
  childrenGone(run, table, old, row)
  fire(run, table, 'update', { old, row, set })
  return row
}

export function deleteRow(run: Run, table: Table, old: Row): void {
  firedBefore(run, table, 'delete', { old, row: old, set: [] })
  replaceRow(run, table, old, null)
  childrenGone(run, table, old, null)
  fire(run, table, 'delete', { old, row: old, set: [] })
}

function taken({ name }: Table, unique: UniqueRule): Error {
  const { name: constraint } = unique
  return raised('23505', `duplicate key value violates unique constraint "${constraint}"`, { table: name, constraint })
}

/** What a row must be, whoever has its key. */
export function demandRules(run: Run, table: Table, row: Row): void {
  const { name, columns } = table
  for (let place = 0; place < columns.length; place++)
    if (row[place] === null && columns[place]!.isRequired) {
      const column = columns[place]!.name
      throw raised('23502', `null value in column "${column}" of relation "${name}" violates not-null constraint`, {
        table: name,
        column,
      })
    }
  const frame = frameOf(run, row)
  for (const { name: constraint, work } of rulesOf(table).checks)
    if (work(frame) === false)
      throw raised('23514', `new row for relation "${name}" violates check constraint "${constraint}"`, {
        table: name,
        constraint,
      })
}

type Change = { readonly old: Row | null; readonly row: Row; readonly set: readonly string[] }

function triggersOf(run: Run, table: Table, event: Event, { old, row, set }: Change) {
  return rulesOf(table).triggers.filter(
    ({ events, columns, when }) =>
      events.includes(event) &&
      (event !== 'update' || columns.length === 0 || columns.some((column) => set.includes(column))) &&
      (!when || when(frameOf(run, row, old ?? row)) === true),
  )
}

function firedBefore(run: Run, table: Table, event: Event, change: Change): Row {
  for (const { isBefore, routine } of triggersOf(run, table, event, change))
    if (isBefore) ROUTINES[routine]!(fact(run, table, event, change))
  return change.row
}

function fire(run: Run, table: Table, event: Event, change: Change): void {
  if (table.triggers.length === 0) return
  for (const { isBefore, routine } of triggersOf(run, table, event, change))
    if (!isBefore) run.after.push(() => ROUTINES[routine]!(fact(run, table, event, change)))
}

/** What a routine of a trigger sees. */
export type Fact = { readonly run: Run; readonly event: Event; old(column: string): Value; row(column: string): Value }

function fact(run: Run, table: Table, event: Event, { old, row }: Change): Fact {
  return {
    run,
    event,
    old: (column) => old![placeOf(table, column)]!,
    row: (column) => row[placeOf(table, column)]!,
  }
}
