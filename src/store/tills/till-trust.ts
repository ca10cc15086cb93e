import type { Database, Queryable } from '../db.ts'
import { bornIn } from '../lineage.ts'
import { statement } from '../statement.ts'

// May the books of a till be trusted? Column `birth` says which store they were last held against the chain in. Where it names another one, the store is a
// copy; where it is a word instead (`silence`, `put back`, `younger`), it says why nobody may trust them.

const TRUST = statement(`
  update tills
  set birth = ${bornIn('$2')}
  where id = $1
    and birth is distinct from ${bornIn('$2')}`)

/** They are as they were left. */
export async function trustTill(db: Database, id: string): Promise<void> {
  await db.query(TRUST, [id, db.filesBornAt])
}

const TRUST_AGAIN = statement(`
  update tills
  set birth = ${bornIn('$2')},
      set_aside_at = now()
  where id = $1`)

/** Whatever the store may have forgotten of this till was set aside, as far as the chain shows it. */
export async function trustAfterQuarantine(db: Database, id: string): Promise<void> {
  await db.query(TRUST_AGAIN, [id, db.filesBornAt])
}

const QUARANTINED_AT = statement<{ set_aside_at: Date | null }>(`
  select set_aside_at
  from tills
  where id = $1`)

/** When this till was last trusted again; 0, if never. */
export async function quarantinedAt(queryable: Queryable, id: string): Promise<number> {
  return (await queryable.query(QUARANTINED_AT, [id])).rows[0]?.set_aside_at?.getTime() ?? 0
}

const SET_ASIDE_SINCE = statement(`
  select
  from tills
  where id = $1
    and birth = ${bornIn('$2')}
    and floor(extract(epoch from set_aside_at) * 1000) > $3`)

/** Has another replica set everything aside since then, and is this till trusted again? Trust alone would not do: it may have missed why others doubt. */
export async function isSetAsideSince(db: Database, id: string, since: number): Promise<boolean> {
  return (await db.query(SET_ASIDE_SINCE, [id, db.filesBornAt, since])).rows.length > 0
}

/**
 * For somebody else's statement: may this store have forgotten what was bought with what somebody was asked for then? The argument is SQL, in
 * milliseconds, and whatever a payer wrote; null is no claim.
 */
export function mayBeForgotten(askedAt: string): string {
  return `exists (select from tills where extract(epoch from set_aside_at) * 1000 > ${askedAt}::float8)`
}

const FORGOTTEN = statement<{ is_forgotten: boolean }>(`
  select ${mayBeForgotten('$1')} as is_forgotten`)

export async function mayHaveForgotten(queryable: Queryable, askedAt: number | null): Promise<boolean> {
  return (await queryable.query(FORGOTTEN, [askedAt])).rows[0]!.is_forgotten
}

const TRUSTED = statement<{ id: string }>(`
  select id
  from tills
  where birth is null
     or birth = ${bornIn('$1')}`)

/** For whoever has copied a store that nobody sold from meanwhile: what could be trusted there can be trusted in the copy. */
export async function carryTrust(source: Database, target: Database): Promise<void> {
  const { rows } = await source.query(TRUSTED, [source.filesBornAt])
  for (const { id } of rows) await trustTill(target, id)
}

const DOUBT_SILENT = statement(`
  update tills
  set birth = 'silence'
  where id = $1
    and alive_at < now() - make_interval(secs => $2)`)

/** Nobody has looked for so long that it may be an older copy of itself. Written down, because the next look ends the silence. */
export async function doubtAfterSilence(queryable: Queryable, id: string, secondsMax: number): Promise<void> {
  await queryable.query(DOUBT_SILENT, [id, secondsMax])
}

const DOUBT = statement<{ id: string }>(`
  update tills
  set birth = 'put back'
  returning id`)

// Of those that are doubted: whoever has looked at the others since tells nothing of where the copy ends. A store without any of these tills is asked for
// the last word there is.
const KEPT = statement<{ kept_until: Date | null; is_doubted: boolean | null }>(`
  with known as (
    select alive_at,
           id = any ($1) as is_own,
           alive_at < now() - make_interval(secs => $3) as is_silent,
           coalesce(birth <> ${bornIn('$2')}, false) as is_other
    from tills
  )
  select coalesce(max(alive_at) filter (where is_own and (is_silent or is_other)), max(alive_at)) as kept_until,
         bool_and(is_silent) or bool_or(is_own and (is_silent or is_other)) as is_doubted
  from known`)

/** When books were last kept in this store, and whether they may be older than it seems, by what these tills show. Null: there are none. */
export async function tillsLastRead(
  db: Database,
  tills: readonly string[],
  silenceSecondsMax: number,
): Promise<{ readonly until: number; readonly isDoubted: boolean } | null> {
  const { kept_until, is_doubted } = (await db.query(KEPT, [tills, db.filesBornAt, silenceSecondsMax])).rows[0]!
  return kept_until && { until: kept_until.getTime(), isDoubted: is_doubted === true }
}

const ADD_DOUBTED = statement(`
  insert into tills (id, first_block, checked_block, birth, alive_at)
  values ($1, $2::bigint + 1, $2, 'younger', $3)
  on conflict (id) do nothing`)

/** A till that this store has never seen, and perhaps only because it is an older copy: it is doubted from the first, and its books end where the others do. */
export async function addDoubtedTill(
  queryable: Queryable,
  id: string,
  { after, until }: { readonly after: bigint; readonly until: number },
): Promise<void> {
  await queryable.query(ADD_DOUBTED, [id, after.toString(), new Date(until)])
}

const IS_KNOWN = statement<{ is_known: boolean }>(`
  select exists (select from tills where id = $1) as is_known`)

export async function isTillKnown(queryable: Queryable, id: string): Promise<boolean> {
  return (await queryable.query(IS_KNOWN, [id])).rows[0]!.is_known
}

/** Somebody says that the store was put back, where nothing shows it. Returns the tills that will be held against the chain. */
export async function doubtTills(queryable: Queryable): Promise<readonly string[]> {
  return (await queryable.query(DOUBT)).rows.map(({ id }) => id)
}
