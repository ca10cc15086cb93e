import { type PlaceOfPayment, tillIdOf } from '../../domain/till.ts'
import type { Database, Queryable } from '../db.ts'
import { bornIn } from '../lineage.ts'
import { statement } from '../statement.ts'

// May the arrivals of a till be trusted to be complete? Column `birth` names the store in which the till was last compared with the chain. Where it names
// another store, this one is a copy; where it is a word instead (`silence`, `put back`, `younger`), it says why the till is doubted.

const TRUST = statement(`
  update tills
  set birth = ${bornIn('$2')}
  where id = $1
    and birth is distinct from ${bornIn('$2')}`)

/** Marks a till as compared with the chain in this store, whatever was thought of it. */
async function trustTill(db: Database, id: string): Promise<void> {
  await db.query(TRUST, [id, db.filesBornAt])
}

const TRUST_UNDOUBTED = statement(`
  update tills
  set birth = ${bornIn('$2')}
  where id = $1
    and birth is null`)

/** Marks a till about which nobody had a doubt when it was read. Another replica may have come to doubt it meanwhile, and then it stays doubted. */
export async function trustUndoubted(db: Database, id: string): Promise<void> {
  await db.query(TRUST_UNDOUBTED, [id, db.filesBornAt])
}

/** For a statement about tills: another replica has set everything aside since then, in this store. The arguments are SQL. */
const isSetAside = (files: string, since: string) => `(
      birth = ${bornIn(files)}
      and floor(extract(epoch from set_aside_at) * 1000) > ${since}::float8) is true`

const TRUST_AGAIN = statement(`
  update tills
  set birth = ${bornIn('$2')},
      set_aside_at = now()
  where id = $1
    and not ${isSetAside('$2', '$3')}`)

/**
 * The same after a quarantine of everything that the store may have forgotten of this till, as far as the chain shows it. Where another replica has
 * done that since, it may sell again: the later of both must not make void what it has asked for.
 */
export async function trustAfterQuarantine(db: Database, id: string, since: number): Promise<void> {
  await db.query(TRUST_AGAIN, [id, db.filesBornAt, since])
}

const QUARANTINED_AT = statement<{ set_aside_at: Date | null }>(`
  select set_aside_at
  from tills
  where id = $1`)

/** When the last quarantine of this till ended; 0: there was none. */
export async function quarantinedAt(queryable: Queryable, id: string): Promise<number> {
  return (await queryable.query(QUARANTINED_AT, [id])).rows[0]?.set_aside_at?.getTime() ?? 0
}

const QUARANTINES = statement<{ id: string; set_aside_at: Date | null }>(`
  select id, set_aside_at
  from tills`)

/** When the last quarantine of each till that the store knows ended; 0: there was none. */
export type Quarantines = ReadonlyMap<string, number>

export async function quarantines(queryable: Queryable): Promise<Quarantines> {
  const { rows } = await queryable.query(QUARANTINES)
  return new Map(rows.map(({ id, set_aside_at }) => [id, set_aside_at?.getTime() ?? 0]))
}

const SET_ASIDE_SINCE = statement(`
  select
  from tills
  where id = $1
    and ${isSetAside('$2', '$3')}`)

/** Has another replica set everything aside since then, and is this till trusted again? Trust alone would not do: it may have missed why others doubt. */
export async function isSetAsideSince(db: Database, id: string, since: number): Promise<boolean> {
  return (await db.query(SET_ASIDE_SINCE, [id, db.filesBornAt, since])).rows.length > 0
}

/**
 * SQL for other statements: may this store have forgotten a purchase that was paid with what the shop asked for then? The arguments are SQL. The time is
 * in milliseconds, and whatever the payer wrote; null is no claim. What was set aside at another till, whose node was away, does not count where the
 * till of the payment was read before, and was not doubted since.
 */
export function mayBeForgotten({
  askedAt,
  till,
  files,
}: Readonly<Record<'askedAt' | 'till' | 'files', string>>): string {
  const ms = (column: string) => `extract(epoch from ${column}) * 1000`
  return `(
        exists (select from tills where ${ms('set_aside_at')} > ${askedAt}::float8)
        and not exists (
          select
          from tills
          where id = ${till}::text
            and birth = ${bornIn(files)}
            and ${ms('created_at')} < ${askedAt}::float8
            and (set_aside_at is null or ${ms('set_aside_at')} <= ${askedAt}::float8)))`
}

/**
 * SQL for other statements: does somebody know that this store has forgotten purchases, and are they not set aside at one of these tills yet? The argument
 * is SQL. Replicas that sell heed nothing else. A till that is silent, or younger than others, may only have a node that is away: whoever starts reads it
 * first, and whoever sold meanwhile has seen that the store is what it was.
 */
export function isAnyPutBack(tills: string): string {
  return `exists (select from tills where id = any (${tills}::text[]) and birth = 'put back')`
}

const ANY_PUT_BACK = statement<{ is_put_back: boolean }>(`
  select ${isAnyPutBack('$1')} as is_put_back`)

export async function areTillsPutBack(queryable: Queryable, tills: readonly string[]): Promise<boolean> {
  return (await queryable.query(ANY_PUT_BACK, [tills])).rows[0]!.is_put_back
}

/** What was asked for, and where it was to be paid; null: nobody knows. */
export type AskedFor = { readonly askedAt: number | null; readonly place: PlaceOfPayment | null }

const FORGOTTEN = statement<{ is_forgotten: boolean }>(`
  select ${mayBeForgotten({ askedAt: '$1', till: '$2', files: '$3' })} as is_forgotten`)

export async function mayHaveForgotten(db: Database, { askedAt, place }: AskedFor): Promise<boolean> {
  const { rows } = await db.query(FORGOTTEN, [askedAt, place && tillIdOf(place), db.filesBornAt])
  return rows[0]!.is_forgotten
}

const TRUSTED = statement<{ id: string }>(`
  select id
  from tills
  where birth is null
     or birth = ${bornIn('$1')}`)

/** After copying a store from which no replica sold meanwhile: tills that could be trusted there can be trusted in the copy. */
export async function carryTrust(source: Database, target: Database): Promise<void> {
  const { rows } = await source.query(TRUSTED, [source.filesBornAt])
  for (const { id } of rows) await trustTill(target, id)
}

const DOUBT_SILENT = statement(`
  update tills
  set birth = 'silence'
  where id = $1
    and alive_at < now() - make_interval(secs => $2)
    and (birth is null or birth = ${bornIn('$3')})`)

/**
 * Doubts a till that was not read for so long that the store may be an older copy of itself. Stored, because the next scan ends the silence. A till that is
 * doubted already stays so for its own reason, which may be a stronger one.
 */
export async function doubtAfterSilence(db: Database, id: string, secondsMax: number): Promise<void> {
  await db.query(DOUBT_SILENT, [id, secondsMax, db.filesBornAt])
}

const DOUBT = statement<{ id: string }>(`
  update tills
  set birth = 'put back'
  where $4
     or not ${isSetAside(
       '$1',
       `coalesce((
          select at
          from unnest($2::text[], $3::float8[]) as noted (till, at)
          where till = tills.id), 0)`,
     )}
  returning id`)

// Of those that are doubted: a replica that has read the other tills since does not tell where the copy ends. For a store without any of these tills the
// latest time of all counts.
const KEPT = statement<{ kept_until: Date | null; is_doubted: boolean | null }>(`
  with known as (
    select alive_at,
           id = any ($1) as is_own,
           alive_at < now() - make_interval(secs => $3) as is_silent,
           $4 or coalesce(birth <> ${bornIn('$2')}, false) as is_other
    from tills
  )
  select coalesce(max(alive_at) filter (where is_own and (is_silent or is_other)), max(alive_at)) as kept_until,
         bool_and(is_silent) or bool_or(is_own and (is_silent or is_other)) as is_doubted
  from known`)

/** When tills were last read in this store, and whether the store may be older than that, by what these tills show or by proof. Null: it has no tills. */
export async function tillsLastRead(
  db: Database,
  tills: readonly string[],
  { silenceSecondsMax, hasProof }: { readonly silenceSecondsMax: number; readonly hasProof: boolean },
): Promise<{ readonly until: number; readonly isDoubted: boolean } | null> {
  const { kept_until, is_doubted } = (await db.query(KEPT, [tills, db.filesBornAt, silenceSecondsMax, hasProof]))
    .rows[0]!
  return kept_until && { until: kept_until.getTime(), isDoubted: is_doubted === true }
}

const ADD_DOUBTED = statement(`
  insert into tills (id, first_block, checked_block, birth, alive_at)
  values ($1, $2::bigint + 1, $2, 'younger', $3)
  on conflict (id) do nothing`)

/** Adds a till that this store does not know, perhaps only because it is an older copy: doubted from the start, and last read when the others were. */
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

const IS_TRUSTED = statement(`
  select
  from tills
  where id = $1
    and birth = ${bornIn('$2')}`)

/** Was it compared with the chain in this store, and not doubted since? */
export async function isTillTrusted(db: Database, id: string): Promise<boolean> {
  return (await db.query(IS_TRUSTED, [id, db.filesBornAt])).rows.length > 0
}

/**
 * Doubts all tills, because an operator or a replica knows that the store was restored; but for those that another replica has set aside since these
 * were noted, or that it has added since. An operator has noted none. Returns those that will be compared with the chain.
 */
export async function doubtTills(db: Database, noted: Quarantines | null = null): Promise<readonly string[]> {
  const [ids, times] = [[...(noted?.keys() ?? [])], [...(noted?.values() ?? [])]]
  const { rows } = await db.query(DOUBT, [db.filesBornAt, ids, times, noted === null])
  return rows.map(({ id }) => id)
}
