import { isoTime } from '../base/clock.ts'
import type { Place } from '../base/cursor.ts'
import type { RailName } from '../domain/rail.ts'
import type { Database, Queryable } from './db.ts'
import { type Doer, recordDeeds } from './deeds.ts'
import { statement } from './statement.ts'

// What an operator forbids: sales on a rail, or sales to a payer. The statement that opens an order reads the same rows, so from the moment that a
// restriction is written no replica opens an order against it.

/** Nothing is sold on this rail. */
export type SalesPause = {
  readonly rail: RailName
  readonly reason: string
  readonly by: string
  readonly since: number
  /** Null: until an operator resumes. */
  readonly until: number | null
}

/** Nothing is sold to this payer. */
export type BlockedPayer = {
  /** In lower case. */
  readonly address: string
  readonly reason: string
  readonly by: string
  readonly at: number
}

type Row = { about: string; reason: string; author: string; since: Date; until_at: Date | null }

const COLUMNS = 'about, reason, author, since, until_at'
const IN_FORCE = '(until_at is null or until_at > now())'

/** SQL, on a parameter that is a rail: it is paused. */
export function isPausedRail(rail: string): string {
  return `exists (select from sale_restrictions where kind = 'rail' and about = ${rail} and ${IN_FORCE})`
}

/** SQL, on a parameter that is an address: it is blocked. */
export function isBlockedAddress(payer: string): string {
  return `exists (select from sale_restrictions where kind = 'payer' and about = lower(${payer}))`
}

const LOCK = statement<Row>(`
  select ${COLUMNS}
  from sale_restrictions
  where kind = $1
    and about = $2
  for update`)

const ADD = statement<Row>(`
  insert into sale_restrictions (kind, about, reason, author, since, until_at)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (kind, about) do update
  set reason = excluded.reason,
      author = excluded.author,
      since = excluded.since,
      until_at = excluded.until_at
  where excluded.kind = 'rail'
  returning ${COLUMNS}`)

const REMOVE = statement<Row>(`
  delete from sale_restrictions
  where kind = $1
    and about = $2
  returning ${COLUMNS}`)

const PAUSES = statement<Row>(`
  select ${COLUMNS}
  from sale_restrictions
  where kind = 'rail'
    and ${IN_FORCE}
  order by about`)

export async function readPauses(queryable: Queryable): Promise<readonly SalesPause[]> {
  return (await queryable.query(PAUSES)).rows.map(pauseOf)
}

export function pauseSales(
  db: Database,
  doer: Doer,
  { rail, reason, until }: Pick<SalesPause, 'rail' | 'reason' | 'until'>,
): Promise<SalesPause> {
  const pause = { rail, reason, by: doer.by, since: doer.at, until }
  return db.transaction(async (tx) => {
    const [known] = (await tx.query(LOCK, ['rail', rail])).rows
    await tx.query(ADD, ['rail', rail, reason, doer.by, new Date(doer.at), until === null ? null : new Date(until)])
    const before = known ? told(pauseOf(known)) : null
    const about = { kind: 'rail', id: rail }
    await recordDeeds(tx, doer, [{ deed: 'sales.paused', about, before, after: told(pause), reason }])
    return pause
  })
}

/** False: they were not paused. */
export function resumeSales(db: Database, doer: Doer, rail: RailName): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [known] = (await tx.query(REMOVE, ['rail', rail])).rows
    if (!known) return false
    const about = { kind: 'rail', id: rail }
    await recordDeeds(tx, doer, [{ deed: 'sales.resumed', about, before: told(pauseOf(known)), after: null }])
    return true
  })
}

const IS_BLOCKED = statement<{ is_blocked: boolean }>(`
  select ${isBlockedAddress('$1')} as is_blocked`)

export async function isPayerBlocked(queryable: Queryable, payer: string): Promise<boolean> {
  return (await queryable.query(IS_BLOCKED, [payer])).rows[0]!.is_blocked
}

const BLOCKED = statement<Row & { micros: string }>(`
  select ${COLUMNS}, (extract(epoch from since) * 1000000)::bigint::text as micros
  from sale_restrictions
  where kind = 'payer'
    and (since, about) < (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::text)
  order by since desc, about desc
  limit $3`)

const END: Place = { micros: '9000000000000000', id: '' }

/** The newest first. */
export async function listBlocked(
  queryable: Queryable,
  after: Place | null,
  limit: number,
): Promise<readonly { readonly blocked: BlockedPayer; readonly place: Place }[]> {
  const { micros, id } = after ?? END
  const { rows } = await queryable.query(BLOCKED, [micros, id, limit])
  return rows.map((row) => ({ blocked: blockedOf(row), place: { micros: row.micros, id: row.about } }))
}

/** `isNew` is false for a payer who was blocked before: that block stays as it is. */
export function blockPayer(
  db: Database,
  doer: Doer,
  { address, reason }: Pick<BlockedPayer, 'address' | 'reason'>,
): Promise<{ readonly blocked: BlockedPayer; readonly isNew: boolean }> {
  const id = address.toLowerCase()
  return db.transaction(async (tx) => {
    const [added] = (await tx.query(ADD, ['payer', id, reason, doer.by, new Date(doer.at), null])).rows
    const [row] = added ? [added] : (await tx.query(LOCK, ['payer', id])).rows
    const about = { kind: 'payer', id }
    if (added) await recordDeeds(tx, doer, [{ deed: 'payer.blocked', about, before: null, after: { reason }, reason }])
    return { blocked: blockedOf(row!), isNew: added !== undefined }
  })
}

/** False: the payer was not blocked here. */
export function unblockPayer(db: Database, doer: Doer, address: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [row] = (await tx.query(REMOVE, ['payer', address.toLowerCase()])).rows
    if (!row) return false
    const { address: id, reason, by, at } = blockedOf(row)
    const before = { reason, by, at: isoTime(at) }
    await recordDeeds(tx, doer, [{ deed: 'payer.unblocked', about: { kind: 'payer', id }, before, after: null }])
    return true
  })
}

/** All that is forbidden, for a process that is asked thousands of times a second. */
type Restrictions = {
  readonly pauses: readonly SalesPause[]
  /** In lower case. */
  readonly blocked: ReadonlySet<string>
  /** How many are blocked, and which, mixed into one number. */
  readonly state: string
}

export const NO_RESTRICTIONS: Restrictions = { pauses: [], blocked: new Set(), state: '0 0' }

const STATE = statement<{ state: string }>(`
  select count(*) || ' ' || coalesce(bit_xor(hashtextextended(about, 0)), 0) as state
  from sale_restrictions
  where kind = 'payer'`)

const ADDRESSES = statement<{ about: string }>(`
  select about
  from sale_restrictions
  where kind = 'payer'`)

/** The list of the blocked is read only when it has changed. */
export async function readRestrictions(queryable: Queryable, known: Restrictions): Promise<Restrictions> {
  const [pauses, { state }] = [await readPauses(queryable), (await queryable.query(STATE)).rows[0]!]
  if (state === known.state) return { ...known, pauses }
  const { rows } = await queryable.query(ADDRESSES)
  return { pauses, blocked: new Set(rows.map(({ about }) => about)), state }
}

function told({ reason, until }: SalesPause) {
  return { reason, until: until === null ? null : isoTime(until) }
}

function pauseOf({ about, reason, author, since, until_at }: Row): SalesPause {
  return { rail: about, reason, by: author, since: since.getTime(), until: until_at?.getTime() ?? null }
}

function blockedOf({ about, reason, author, since }: Row): BlockedPayer {
  return { address: about, reason, by: author, at: since.getTime() }
}
