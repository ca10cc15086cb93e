import type { Database, Queryable } from './db.ts'
import { statement } from './statement.ts'

// Which history the store is part of, and when an operator said that it was restored. Restored rows are found by that word, and never guessed.

/** SQL: this store is the one that the shop was told to sell from. True as well where the server does not tell its history. */
export const IS_KNOWN_HISTORY = `coalesce((select lineage = store_lineage() from store_state), true)`

/** SQL: an operator has restored the store since the payer was asked. The argument is SQL, in milliseconds. */
export const isRestoredSince = (askedAt: string) =>
  `exists (select from store_state where extract(epoch from restored_at) * 1000 > ${askedAt}::float8)`

const BEGIN = statement(`
  insert into store_state (lineage)
  values (store_lineage())
  on conflict do nothing`)

/** A new store: its own history is the one to sell from. */
export async function beginHistory(queryable: Queryable): Promise<void> {
  await queryable.query(BEGIN)
}

/** What the shop was told to sell from, and what it stands on. `restoredAt` is in milliseconds; 0: never. */
export type History = {
  readonly isKnown: boolean
  readonly known: string | null
  readonly actual: string | null
  readonly restoredAt: number
}

const READ = statement<{ is_known: boolean; known: string | null; actual: string | null; restored_at: Date | null }>(`
  select ${IS_KNOWN_HISTORY} as is_known,
         store_lineage() as actual,
         lineage as known,
         restored_at
  from (values (true)) as one (id)
  left join store_state using (id)`)

export async function readHistory(queryable: Queryable): Promise<History> {
  const { is_known, known, actual, restored_at } = (await queryable.query(READ)).rows[0]!
  return { isKnown: is_known, known, actual, restoredAt: restored_at?.getTime() ?? 0 }
}

/** The same server and the same database on another timeline: a standby was promoted, or the server was restored to a moment. */
export function isFailover({ known, actual }: History): boolean {
  if (known === null || actual === null) return false
  const [server, , database] = known.split('/')
  const [otherServer, , otherDatabase] = actual.split('/')
  return server === otherServer && database === otherDatabase
}

const FOLLOW = statement(`
  update store_state
  set lineage = $1
  where lineage is distinct from $1
    and store_lineage() = $1`)

/** Nothing is missing in this history: it is the one to sell from. */
export async function followHistory(queryable: Queryable, { actual }: History): Promise<void> {
  await queryable.query(FOLLOW, [actual])
}

const ACCEPT = statement<{ restored_at: Date | null }>(`
  insert into store_state (lineage, restored_at)
  values (store_lineage(), case when $1 then null else now() end)
  on conflict (id) do update
  set lineage = excluded.lineage,
      restored_at = coalesce(excluded.restored_at, store_state.restored_at)
  returning restored_at`)

// What the keys have sent by now is no proof of a restore any more: the next start counts them anew.
const RECOUNT = statement(`
  update signing_keys
  set counted = null`)

/** An operator's word: the store was restored, or moved with all that was in it (`complete`). The shop sells from it again. */
export async function acceptStore(db: Database, { isComplete }: { readonly isComplete: boolean }): Promise<number> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query(ACCEPT, [isComplete])
    await tx.query(RECOUNT)
    return rows[0]!.restored_at?.getTime() ?? 0
  })
}
