import type { JsonObject } from '../base/json.ts'
import type { Lease } from '../domain/lease.ts'
import type { Queryable } from './db.ts'
import { type Statement, statement } from './statement.ts'

/** A job is known by its key, which is unique among the jobs of a kind, so the same work is never queued twice. */
type JobName = { readonly kind: string; readonly key: string }

/** Work that must happen at least once: it is tried until whoever holds it deletes it. */
export type Job = Lease & { readonly payload: JsonObject }

const ENQUEUE = statement(`
  insert into jobs (kind, key)
  values ($1, $2)
  on conflict on constraint jobs_kind_key do nothing`)

/** Queues a job, in the caller's transaction when it hands one in. False when the same work was queued before. */
export async function enqueue(queryable: Queryable, { kind, key }: JobName): Promise<boolean> {
  const { rowCount } = await queryable.query(ENQUEUE, [kind, key])
  return rowCount === 1
}

const ENQUEUE_LEASED = statement<Lease>(`
  insert into jobs (kind, key, lease, run_at)
  values ($1, $2, gen_random_uuid(), clock_timestamp() + make_interval(secs => $3))
  on conflict on constraint jobs_kind_key do update
  set lease = excluded.lease,
      run_at = excluded.run_at
  where jobs.lease is null
     or jobs.run_at <= now()
  returning kind, key, lease`)

/** A job that the caller works on itself, queued now or before; others get it only when the lease runs out. Null: somebody is at work on it. */
export async function enqueueLeased(
  queryable: Queryable,
  { kind, key, leaseSeconds }: JobName & { readonly leaseSeconds: number },
): Promise<Lease | null> {
  const { rows } = await queryable.query(ENQUEUE_LEASED, [kind, key, leaseSeconds])
  return rows[0] ?? null
}

// One kind and priority at a time, so that the index gives each in its order. The inner select stays in a `with`: as
// `id in (select … limit …)` the planner may run it again and lock more than it returns.
const CLAIM = statement<Job>(`
  with due as (
    select job.id, row_number() over (partition by wanted.kind order by level, job.run_at, job.id) as place
    from unnest($1::text[]) as wanted (kind)
    cross join unnest(array[0, 1]) as level
    cross join lateral (
      select id, run_at
      from jobs
      where run_at <= now()
        and kind = wanted.kind
        and priority = level
      order by run_at, id
      limit $2
      for update skip locked
    ) as job
  ), claimed as (
    update jobs
    set lease = gen_random_uuid(),
        run_at = clock_timestamp() + make_interval(secs => $3)
    from due
    where jobs.id = due.id
      and due.place <= $2
    returning jobs.kind, jobs.key, jobs.payload, jobs.lease, due.place
  )
  select kind, key, payload, lease
  from claimed
  order by place, kind`)

/** At most `limit` of each kind. */
type Claim = { readonly kinds: readonly string[]; readonly limit: number; readonly leaseSeconds: number }

/** Takes due jobs, oldest first; no two callers get the same one. */
export async function claim(queryable: Queryable, { kinds, limit, leaseSeconds }: Claim): Promise<readonly Job[]> {
  return (await queryable.query(CLAIM, [kinds, limit, leaseSeconds])).rows
}

/**
 * A condition for somebody else's statement: this lease is still held. The arguments are SQL, a parameter or a column. It
 * locks the job until the transaction ends: nobody can claim it between the look and the commit, even if the lease runs out.
 */
export function leaseHeld(sql: Lease): string {
  return `exists (
    select
    from jobs
    where kind = ${sql.kind}
      and key = ${sql.key}
      and lease = ${sql.lease}
    for key share
  )`
}

const HELD = `kind = $1 and key = $2 and lease = $3`

const EXTEND = statement(`
  update jobs
  set run_at = clock_timestamp() + make_interval(secs => $4)
  where ${HELD}`)

/** Prolongs the lease. Like all that follow it answers false when the lease was lost: stop, another worker is at it. */
export function extend(queryable: Queryable, lease: Lease, leaseSeconds: number): Promise<boolean> {
  return change(queryable, EXTEND, lease, leaseSeconds)
}

const RELEASE = statement(`
  update jobs
  set lease = null,
      priority = coalesce($5, priority),
      run_at = clock_timestamp() + make_interval(secs => $4)
  where ${HELD}`)

/** What is urgent is claimed before all that is not. */
export type Priority = 'urgent' | 'usual'

/** Gives the job back, unfinished, to be tried again after the delay. */
export function release(
  queryable: Queryable,
  lease: Lease,
  delaySeconds: number,
  priority?: Priority,
): Promise<boolean> {
  return change(queryable, RELEASE, lease, delaySeconds, priority && (priority === 'urgent' ? 0 : 1))
}

const FORGET = statement(`
  delete from jobs
  where ${HELD}`)

/** It is done, or there was nothing to do. The same job may be queued again. */
export function forget(queryable: Queryable, lease: Lease): Promise<boolean> {
  return change(queryable, FORGET, lease)
}

async function change(
  queryable: Queryable,
  update: Statement<never>,
  { kind, key, lease }: Lease,
  ...values: readonly unknown[]
): Promise<boolean> {
  const { rowCount } = await queryable.query(update, [kind, key, lease, ...values])
  return rowCount === 1
}

const HURRY = statement(`
  update jobs
  set run_at = least(run_at, now() + make_interval(secs => $3))
  where kind = $1
    and key = $2
    and lease is null`)

/** Does not wait for the next try, or not as long. False when somebody is at work on it, or there is no such job. */
export async function hurry(queryable: Queryable, { kind, key }: JobName, delaySeconds = 0): Promise<boolean> {
  const { rowCount } = await queryable.query(HURRY, [kind, key, delaySeconds])
  return rowCount === 1
}

const OLDEST_DUE = statement<{ seconds: number }>(`
  select coalesce(extract(epoch from now() - min(run_at)), 0)::float8 as seconds
  from jobs
  where kind = $1
    and run_at <= now()`)

/** For health checks and metrics: how long the oldest due job of a kind has been waiting; 0 when none is due. */
export async function oldestDueSeconds(queryable: Queryable, kind: string): Promise<number> {
  return (await queryable.query(OLDEST_DUE, [kind])).rows[0]!.seconds
}
