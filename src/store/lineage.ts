import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

/** For somebody else's statement: the store is still what it was. The argument is SQL; null is no claim. */
export function ofLineage(expected: string): string {
  return `(${expected}::text is null or store_lineage() is not distinct from ${expected}::text)`
}

/** For somebody else's statement: which copy of the store this is. The argument is SQL, when its files were made. */
export function bornIn(files: string): string {
  return `(store_birth() || ' ' || ${files}::text)`
}

const LOOK = statement<{ lineage: string | null; known: readonly string[] | null }>(`
  select store_lineage() as lineage,
         (select array_agg(identity)
          from payment_identities
          where identity = any ($1::text[])
            and refused_at is null) as known`)

export type StoreLook = {
  /** Which history this is a part of; empty where the server does not tell. */
  readonly lineage: string
  /** Those of these payments that it does not know. */
  readonly missing: readonly string[]
}

export async function lookAtStore(queryable: Queryable, identities: readonly string[]): Promise<StoreLook> {
  const { rows } = await queryable.query(LOOK, [identities])
  const { lineage, known } = rows[0]!
  return { lineage: lineage ?? '', missing: identities.filter((identity) => !known?.includes(identity)) }
}

type Witness = {
  readonly id: string
  readonly lineage: string
  /** Something that it had written is missing. */
  readonly hasLost: boolean
}

/** Those of the same history who have said nothing for so long are gone. */
const SILENT_SECONDS = 60

const TESTIFY = statement(`
  with gone as (
    delete from witnesses
    where lineage = $2
      and id <> $1
      and seen_at < now() - make_interval(secs => ${SILENT_SECONDS})
  )
  insert into witnesses (id, lineage, lost, seen_at)
  values ($1, $2, $3, now())
  on conflict (id) do update
  set lineage = excluded.lineage,
      lost = excluded.lost,
      seen_at = excluded.seen_at`)

/** Says that this process sells here, and whether it misses something. */
export async function testify(queryable: Queryable, { id, lineage, hasLost }: Witness): Promise<void> {
  await queryable.query(TESTIFY, [id, lineage, hasLost])
}

const ROLL = statement<{ silent: number; lost: number }>(`
  select count(*) filter (where lineage <> $1)::int as silent,
         count(*) filter (where lineage = $1 and lost)::int as lost
  from witnesses`)

/** How many replicas have not yet compared their memory with this history, and how many of those who have miss something. */
export async function callRoll(
  queryable: Queryable,
  lineage: string,
): Promise<{ readonly silent: number; readonly lost: number }> {
  const { rows } = await queryable.query(ROLL, [lineage])
  return rows[0]!
}

const DISMISS = statement(`
  delete from witnesses
  where lineage <> $1`)

/** What they might have said was decided without them. */
export async function dismissSilent(queryable: Queryable, lineage: string): Promise<void> {
  await queryable.query(DISMISS, [lineage])
}

const LEAVE = statement(`
  delete from witnesses
  where id = $1`)

/** This process sells no more, and all that it has written is here: the store has this last word, and so everything before it. */
export async function leave(queryable: Queryable, id: string): Promise<void> {
  await queryable.query(LEAVE, [id])
}
