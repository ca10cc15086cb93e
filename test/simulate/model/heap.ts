import type { Table } from './catalogue.ts'
import type { Run } from './level.ts'
import { rulesOf, type UniqueRule } from './rules.ts'
import type { Heap } from './state.ts'
import type { Key, Row } from './value.ts'

// A statement that writes copies the list of rows of a table once, and writes into its copy. Rows themselves never change.

type OpenHeap = { rows: Row[]; readonly lookups: Map<object, Map<Key, Row>> }

/** Rows by a unique key. */
export function lookupOf({ rows, lookups }: Heap, unique: UniqueRule, run: Run | null = null): Map<Key, Row> {
  let lookup = lookups.get(unique)
  if (!lookup) {
    lookup = new Map()
    for (const row of rows) {
      const key = unique.keyIn(row, run!)
      if (key !== null) lookup.set(key, row)
    }
    lookups.set(unique, lookup)
  }
  return lookup
}

/** As it is now, with all that this statement has written. */
export const heapNow = ({ store }: Run, { id }: Table): Heap => store.state.heaps[id]!

function openHeap(run: Run, { id }: Table): OpenHeap {
  const { store, opened } = run
  const heap = store.state.heaps[id]!
  if (opened.has(id)) return heap as OpenHeap
  // The look-ups go along: whoever comes back to the old rows makes new ones.
  const open: OpenHeap = { rows: [...heap.rows], lookups: new Map(heap.lookups) }
  heap.lookups.clear()
  store.state = { ...store.state, heaps: store.state.heaps.with(id, open) }
  opened.add(id)
  return open
}

export function putRow(run: Run, table: Table, row: Row): void {
  const heap = openHeap(run, table)
  heap.rows.push(row)
  for (const unique of rulesOf(table).uniques) {
    const key = unique.keyIn(row, run)
    if (key !== null) heap.lookups.get(unique)?.set(key, row)
  }
}

/** False when it is not there any more: another part of the statement has taken it. */
export function isThere(run: Run, table: Table, row: Row): boolean {
  return !run.opened.has(table.id) || heapNow(run, table).rows.includes(row)
}

export function replaceRow(run: Run, table: Table, old: Row, row: Row | null): void {
  const heap = openHeap(run, table)
  const place = heap.rows.indexOf(old)
  if (row) heap.rows[place] = row
  else heap.rows.splice(place, 1)
  for (const unique of rulesOf(table).uniques) {
    const lookup = heap.lookups.get(unique)
    if (!lookup) continue
    const before = unique.keyIn(old, run)
    const after = row && unique.keyIn(row, run)
    if (before !== null && before !== after) lookup.delete(before)
    if (row && after !== null) lookup.set(after, row)
  }
}

/** Makes sure that there is a look-up, so that `putRow` can keep it. */
export function holderOf(run: Run, table: Table, unique: UniqueRule, row: Row): Row | undefined {
  const key = unique.keyIn(row, run)
  return key === null ? undefined : lookupOf(heapNow(run, table), unique, run).get(key)
}
