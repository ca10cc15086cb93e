import { type Catalogue, NO_TABLES } from './catalogue.ts'
import type { Key, Row } from './value.ts'

/** The rows of a table as they are at some time. Whoever writes makes another one; the look-ups go along with the newest. */
export type Heap = { rows: readonly Row[]; readonly lookups: Map<object, Map<Key, Row>> }

/** Everything that a transaction can take back. */
export type State = { readonly catalogue: Catalogue; readonly heaps: readonly Heap[] }

export const EMPTY: State = { catalogue: NO_TABLES, heaps: [] }

/** One session, and what no transaction takes back. */
export type Store = {
  state: State
  /** When the transaction began, in microseconds. */
  begunAt: number
  isReadOnly: boolean
  /** The next number of each sequence. */
  readonly sequences: Map<string, bigint>
  readonly settings: Map<string, string>
  /** Those that end with the transaction. */
  readonly localSettings: Map<string, string>
  /** How often the books were written anew. */
  births: number
  /** What was asked that is not modelled: somebody may have caught the error. */
  readonly unknown: string[]
  /** How often each named statement was asked. */
  readonly prepared: Map<string, bigint>
  now(): number
  uuid(): string
}

export function nextOf({ sequences }: Store, name: string): bigint {
  const next = sequences.get(name) ?? 1n
  sequences.set(name, next + 1n)
  return next
}

/** Server, timeline and database, as `store_lineage` names them. */
export const LINEAGE = 'model/00000001/5'

/** As `store_birth` names it: a store that was put back has all its rows from another transaction. */
export const birthOf = ({ births }: Store) => `model/5/${1000 + births}`
