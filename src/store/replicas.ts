import { type JsonObject, stringify } from '../base/json.ts'
import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

/** A process that works on this store, as it last said of itself. */
export type Replica = {
  readonly id: string
  readonly version: string
  readonly startedAt: number
  readonly facts: JsonObject
}

/** Whoever was not heard of for so long is gone. */
const GONE_SECONDS = 300

const REPORT = statement(`
  with gone as (
    delete from replicas
    where seen_at < now() - interval '${GONE_SECONDS} seconds'
  )
  insert into replicas (id, version, started_at, seen_at, facts)
  values ($1, $2, $3, now(), $4)
  on conflict (id) do update
  set seen_at = excluded.seen_at,
      facts = excluded.facts`)

export async function reportReplica(queryable: Queryable, { id, version, startedAt, facts }: Replica): Promise<void> {
  await queryable.query(REPORT, [id, version, new Date(startedAt), stringify(facts)])
}

const LEAVE = statement(`
  delete from replicas
  where id = $1`)

export async function forgetReplica(queryable: Queryable, id: string): Promise<void> {
  await queryable.query(LEAVE, [id])
}

const LIST = statement<{ id: string; version: string; started_at: Date; seen_at: Date; facts: JsonObject }>(`
  select id, version, started_at, seen_at, facts
  from replicas
  order by started_at, id
  limit 200`)

export async function listReplicas(queryable: Queryable): Promise<readonly (Replica & { readonly seenAt: number })[]> {
  const { rows } = await queryable.query(LIST)
  return rows.map(({ started_at, seen_at, ...row }) => ({
    ...row,
    startedAt: started_at.getTime(),
    seenAt: seen_at.getTime(),
  }))
}

/** Work that is queued, by kind: how much, how much of it somebody is at, and since when the oldest waits. */
export type QueuedWork = {
  readonly kind: string
  readonly count: number
  readonly leased: number
  readonly oldestDueSeconds: number
}

const QUEUED = statement<{ kind: string; count: number; leased: number; oldest: number }>(`
  select split_part(kind, '/', 1) as kind, count(*)::int as count, count(lease)::int as leased,
         coalesce(extract(epoch from now() - min(run_at) filter (where run_at <= now())), 0)::float8 as oldest
  from jobs
  group by 1
  order by 1`)

export async function readQueue(queryable: Queryable): Promise<readonly QueuedWork[]> {
  const { rows } = await queryable.query(QUEUED)
  return rows.map(({ oldest, ...row }) => ({ ...row, oldestDueSeconds: oldest }))
}
