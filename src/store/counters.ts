import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

/** Hits of one caller in one window. */
type Hits = { readonly name: string; readonly window: number; readonly hits: number }

const ADD = statement<{ name: string; window: string; hits: string }>(`
  insert into rate_counters (name, window_id, hits, forget_after)
  select name, window_id, hits, now() + make_interval(secs => $4)
  from unnest($1::text[], $2::bigint[], $3::bigint[]) as added (name, window_id, hits)
  order by name, window_id
  on conflict (name, window_id) do update
  set hits = rate_counters.hits + excluded.hits
  returning name, window_id as window, hits`)

/**
 * Adds what this replica counted, and tells what all of them counted together. Rows are touched in the order of their names, so that
 * replicas which add the same callers at once wait for each other instead of locking each other out.
 */
export async function addHits(
  queryable: Queryable,
  added: readonly Hits[],
  keepSeconds: number,
): Promise<readonly Hits[]> {
  const { rows } = await queryable.query(ADD, [
    added.map(({ name }) => name),
    added.map(({ window }) => window),
    added.map(({ hits }) => hits),
    keepSeconds,
  ])
  return rows.map(({ name, window, hits }) => ({ name, window: Number(window), hits: Number(hits) }))
}

const FORGET = statement(`
  delete from rate_counters
  where ctid in (select ctid from rate_counters where forget_after < now() limit 10000)`)

/** Windows that are over. */
export async function forgetHits(queryable: Queryable): Promise<void> {
  await queryable.query(FORGET)
}
