import { type Catalogue, type ForeignKey, placeOf, primaryOf, type Table, tableNamed } from './catalogue.ts'
import { heapNow, lookupOf } from './heap.ts'
import type { Run } from './level.ts'
import { raised, Unsupported } from './raised.ts'
import { rulesOf } from './rules.ts'
import type { Row, Value } from './value.ts'
import { deleteRow } from './write.ts'

/** A foreign key between two tables as they are. */
type Link = {
  readonly child: Table
  readonly parent: Table
  readonly key: ForeignKey
  readonly from: readonly number[]
  readonly to: readonly number[]
}

const known = new WeakMap<
  Catalogue,
  ReadonlyMap<string, { readonly up: readonly Link[]; readonly down: readonly Link[] }>
>()

function linksOf(catalogue: Catalogue, { name }: Table) {
  let links = known.get(catalogue)
  if (!links) {
    const all = [...catalogue.tables.values()].flatMap((child) =>
      child.foreignKeys.map((key) => linkOf(catalogue, child, key)),
    )
    const of = (table: string) => ({
      up: all.filter(({ child }) => child.name === table),
      down: all.filter(({ parent }) => parent.name === table),
    })
    links = new Map([...catalogue.tables.keys()].map((table) => [table, of(table)]))
    known.set(catalogue, links)
  }
  return links.get(name)!
}

function linkOf(catalogue: Catalogue, child: Table, key: ForeignKey): Link {
  const parent = tableNamed(catalogue, key.parent)
  const columns = key.parentColumns.length > 0 ? key.parentColumns : primaryOf(parent)!.elements.map((one) => one.name!)
  const from = key.columns.map((column) => placeOf(child, column))
  return { child, parent, key, from, to: columns.map((column) => placeOf(parent, column)) }
}

const valuesAt = (row: Row, places: readonly number[]) => places.map((place) => row[place]!)
const areSame = (a: readonly Value[], b: readonly Value[]) => a.every((value, place) => value === b[place])

function hasParent(run: Run, { parent, to }: Link, values: readonly Value[]): boolean {
  const unique = rulesOf(parent).uniques.find(
    ({ places }) => places && places.length === to.length && areSame(places, to),
  )
  if (!unique) throw new Unsupported('a foreign key to what is not unique', parent.name)
  return lookupOf(heapNow(run, parent), unique).has(unique.keyOf(values))
}

/** When all is written: whoever a row refers to is there. */
export function parentsThere(run: Run, table: Table, row: Row, old: Row | null): void {
  for (const link of linksOf(run.store.state.catalogue, table).up) {
    const values = valuesAt(row, link.from)
    if (values.some((value) => value === null) || (old && areSame(values, valuesAt(old, link.from)))) continue
    run.later.push(() => {
      if (hasParent(run, link, values) || !heapNow(run, table).rows.includes(row)) return
      const { name: constraint } = link.key
      const message = `insert or update on table "${table.name}" violates foreign key constraint "${constraint}"`
      throw raised('23503', message, { table: table.name, constraint })
    })
  }
}

/** When all is written: nobody refers to what is not there any more. */
export function childrenGone(run: Run, table: Table, old: Row, row: Row | null): void {
  for (const link of linksOf(run.store.state.catalogue, table).down) {
    const values = valuesAt(old, link.to)
    if (values.some((value) => value === null) || (row && areSame(values, valuesAt(row, link.to)))) continue
    run.later.push(() => {
      if (hasParent(run, link, values)) return
      const { child, key } = link
      const children = heapNow(run, child).rows.filter((one) => areSame(valuesAt(one, link.from), values))
      if (children.length === 0) return
      if (key.cascades && !row) for (const one of children) deleteRow(run, child, one)
      else {
        const message = `update or delete on table "${table.name}" violates foreign key constraint "${key.name}" on table "${child.name}"`
        throw raised('23503', message, { table: child.name, constraint: key.name })
      }
    })
  }
}
