import { isoTime } from '../../base/clock.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import type { Exported, RetainedThing } from '../../domain/retention.ts'
import type { Database, Queryable } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'

// What will be deleted, whole, page by page. `at` is the last key of the page before, as JSON; null at the beginning.

type Line = { readonly at: string; readonly row: JsonObject }

const UNPAID = statement<Line>(`
  select to_jsonb(o.id)::text as at, to_jsonb(o) as row
  from orders o
  where o.status = 'expired'
    and o.updated_at < $1
    and o.id > coalesce($2::jsonb #>> '{}', '')
  order by o.id
  limit $3`)

const BODIES = statement<Line>(`
  select jsonb_build_array(o.created_at, o.id)::text as at, to_jsonb(o) as row
  from orders o
  where o.status in ('confirmed', 'refunded')
    and o.answer_body is not null
    and o.created_at < $1
    and (o.created_at, o.id) > (coalesce(($2::jsonb ->> 0)::timestamptz, '-infinity'), coalesce($2::jsonb ->> 1, ''))
  order by o.created_at, o.id
  limit $3`)

const EVENTS = statement<Line>(`
  select to_jsonb(e.position)::text as at, to_jsonb(e) as row
  from events e
  where e.position > coalesce(($2::jsonb #>> '{}')::bigint, 0)
    and e.created_at < $1
  order by e.position
  limit $3`)

const DELIVERIES = statement<Line>(`
  select jsonb_build_array(d.endpoint_id, d.position)::text as at, to_jsonb(d) as row
  from webhook_deliveries d
  where (d.endpoint_id, d.position) > (coalesce($2::jsonb ->> 0, ''), coalesce(($2::jsonb ->> 1)::bigint, 0))
    and d.created_at < $1
  order by d.endpoint_id, d.position
  limit $3`)

const SENDS = statement<Line>(`
  select jsonb_build_array(s.chain_id, s.signer, s.nonce_key, s.nonce)::text as at, to_jsonb(s) as row
  from sends s
  where (s.chain_id, s.signer, s.nonce_key, s.nonce)
      > (coalesce(($2::jsonb ->> 0)::bigint, 0), coalesce($2::jsonb ->> 1, ''), coalesce($2::jsonb ->> 2, ''), coalesce(($2::jsonb ->> 3)::bigint, -1))
    and s.created_at < $1
  order by s.chain_id, s.signer, s.nonce_key, s.nonce
  limit $3`)

const ARRIVALS = statement<Line>(`
  select to_jsonb(a.id)::text as at, to_jsonb(a) as row
  from arrivals a
  where a.state in ('matched', 'own', 'dust', 'kept', 'refunded')
    and a.updated_at < $1
    and a.id > coalesce($2::jsonb #>> '{}', '')
  order by a.id
  limit $3`)

const PAGES = {
  unpaid: UNPAID,
  bodies: BODIES,
  events: EVENTS,
  deliveries: DELIVERIES,
  sends: SENDS,
  arrivals: ARRIVALS,
}

export type ExportPage = {
  readonly rows: readonly JsonObject[] /** Null: that was all. */
  readonly next: string | null
}

export async function readExport(
  queryable: Queryable,
  thing: RetainedThing,
  { before, after, limit }: { readonly before: number; readonly after: string | null; readonly limit: number },
): Promise<ExportPage> {
  const { rows } = await queryable.query(PAGES[thing], [new Date(before), after, limit])
  return { rows: rows.map(({ row }) => row), next: rows.length < limit ? null : rows.at(-1)!.at }
}

const MARK = statement(`
  insert into retention (exported_as_of, exported_at)
  values ($1, $2)
  on conflict (id) do update
  set exported_as_of = greatest(retention.exported_as_of, excluded.exported_as_of),
      exported_at = greatest(retention.exported_at, excluded.exported_at)`)

/** Everything that was due then is written where it will last. */
export function markExported(db: Database, doer: Doer, { asOf, at }: Exported): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.query(MARK, [new Date(asOf), new Date(at)])
    const after = { asOf: isoTime(asOf), at: isoTime(at) }
    await recordDeeds(tx, doer, [
      { deed: 'export.marked', about: { kind: 'export', id: after.asOf }, before: null, after },
    ])
  })
}

const EXPORTED = statement<{ exported_as_of: Date | null; exported_at: Date | null }>(`
  select exported_as_of, exported_at
  from retention`)

export async function readExported(queryable: Queryable): Promise<Exported | null> {
  const [row] = (await queryable.query(EXPORTED)).rows
  if (!row?.exported_as_of || !row.exported_at) return null
  return { asOf: row.exported_as_of.getTime(), at: row.exported_at.getTime() }
}

/** One line of the file: what it was, and the row as the store had it. */
export function exportLine(thing: RetainedThing, row: JsonObject): string {
  return `${stringify({ kind: thing, row })}\n`
}
