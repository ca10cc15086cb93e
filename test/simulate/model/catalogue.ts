import type { IndexElem, Node } from 'libpg-query'
import type { Kind } from './kinds.ts'
import { raised } from './raised.ts'

export type Column = {
  readonly name: string
  readonly kind: Kind
  /** Digits behind the point that a `numeric` keeps; null: all. */
  readonly scale: number | null
  readonly isRequired: boolean
  readonly byDefault: Node | null
  /** The sequence that numbers rows, and whether nobody else may. */
  readonly identity: { readonly sequence: string; readonly isAlways: boolean } | null
}

export type Unique = {
  readonly name: string
  readonly elements: readonly IndexElem[]
  readonly where: Node | null
  readonly isPrimary: boolean
}

export type ForeignKey = {
  readonly name: string
  readonly columns: readonly string[]
  readonly parent: string
  /** Empty: its primary key. */
  readonly parentColumns: readonly string[]
  readonly cascades: boolean
}

export type Event = 'insert' | 'update' | 'delete'

export type Trigger = {
  readonly name: string
  readonly isBefore: boolean
  readonly events: readonly Event[]
  /** Of an update: only if it sets one of these. */
  readonly columns: readonly string[]
  readonly when: Node | null
  readonly routine: string
}

export type Check = { readonly name: string; readonly rule: Node }

export type Table = {
  /** Where its rows are. */
  readonly id: number
  readonly name: string
  readonly columns: readonly Column[]
  readonly uniques: readonly Unique[]
  readonly checks: readonly Check[]
  readonly foreignKeys: readonly ForeignKey[]
  readonly triggers: readonly Trigger[]
}

/** Never changed, only replaced: a transaction that is rolled back takes its tables along. */
export type Catalogue = {
  readonly tables: ReadonlyMap<string, Table>
  readonly routines: ReadonlySet<string>
  /** Indexes that only make things faster. */
  readonly indexes: ReadonlySet<string>
}

export const NO_TABLES: Catalogue = { tables: new Map(), routines: new Set(), indexes: new Set() }

export function tableNamed({ tables }: Catalogue, name: string): Table {
  const table = tables.get(name)
  if (!table) throw raised('42P01', `relation "${name}" does not exist`)
  return table
}

export function placeOf({ name, columns }: Table, column: string): number {
  const place = columns.findIndex((one) => one.name === column)
  if (place < 0) throw raised('42703', `column "${column}" of relation "${name}" does not exist`)
  return place
}

export const withTable = (catalogue: Catalogue, table: Table): Catalogue => ({
  ...catalogue,
  tables: new Map(catalogue.tables).set(table.name, table),
})

export const primaryOf = ({ uniques }: Table) => uniques.find(({ isPrimary }) => isPrimary)
