import type { JsonObject } from '../base/json.ts'
import type { Lease } from '../domain/lease.ts'
import type { Queryable } from './db.ts'
import { type Statement, statement } from './statement.ts'

/** Work that must happen at least once. `key` is unique among the jobs of a kind, so the same work is never queued twice. */
export type NewJob = {
  readonly kind: string
  readonly key: string
  readonly payload?: JsonObject
  readonly delaySeconds?: number
  /** After this many tries the job is buried. */
  readonly maxAttempts?: number
}

export type { Lease }

export type Job = Lease & {
  readonly id: string
  readonly payload: JsonObject
  /** Counts this try. */
  readonly attempts: number
  readonly maxAttempts: number
}

export type DeadJob = {
  readonly id: string
  readonly kind: string
  readonly key: string
  readonly attempts: number
  readonly lastError: string | null
}

export type JobCounts = {
  readonly kind: string
  readonly due: number
  /** Claimed, or not due yet. */
  readonly later: number
  readonly dead: number
  /** How long the oldest due job has been waiting; 0 when none is due. */
  readonly oldestDueSeconds: number
}

const MAX_ATTEMPTS = 25
/** An order is never given up. */
export const ORDER_ATTEMPTS_MAX = 2_147_483_647
const ERROR_LENGTH_MAX = 500
const BACKOFF_SECONDS_MAX = 3600

const ENQUEUE = statement(`
  insert into jobs (kind, key, payload, max_attempts, run_at)
  values ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5))
  on conflict on constraint jobs_kind_key do nothing`)

/** Queues a job, in the caller's transaction when it hands one in. False when the same work was queued before. */
export async function enqueue(queryable: Queryable, job: NewJob): Promise<boolean> {
  const { kind, key, payload = {}, delaySeconds = 0, maxAttempts = MAX_ATTEMPTS } = job
  const { rowCount } = await queryable.query(ENQUEUE, [kind, key, payload, maxAttempts, delaySeconds])
  return rowCount === 1
}

const JOB = `jobs.id, jobs.kind, jobs.key, jobs.payload, jobs.attempts, jobs.max_attempts as "maxAttempts", jobs.lease`

const ENQUEUE_LEASED = statement<Job>(`
  insert into jobs (kind, key, payload, max_attempts, attempts, lease, run_at)
  values ($1, $2, $3, $4, 1, gen_random_uuid(), clock_timestamp() + make_interval(secs => $5))
  on conflict on constraint jobs_kind_key do update
  set lease = excluded.lease,
      run_at = excluded.run_at,
      attempts = jobs.attempts + 1
  where jobs.state = 'waiting'
    and (jobs.lease is null or jobs.run_at <= now())
  returning ${JOB}`)

export type NewLeasedJob = Omit<NewJob, 'delaySeconds'> & { readonly leaseSeconds: number }

/** A job that the caller works on itself, queued now or before; others get it only when the lease runs out. Null: somebody is at work on it. */
export async function enqueueLeased(queryable: Queryable, job: NewLeasedJob): Promise<Job | null> {
  const { kind, key, payload = {}, maxAttempts = MAX_ATTEMPTS, leaseSeconds } = job
  const { rows } = await queryable.query(ENQUEUE_LEASED, [kind, key, payload, maxAttempts, leaseSeconds])
  return rows[0] ?? null
}

// One kind and priority at a time, so that the index gives each in its order. The inner select stays in a `with`: as
// `id in (select … limit …)` the planner may run it again and lock more than it returns.
const CLAIM = statement<Job & { state: string }>(`
  with due as (
    select job.id, job.is_spent, row_number() over (partition by wanted.kind order by level, job.run_at) as place
    from unnest($1::text[]) as wanted (kind)
    cross join unnest(array[0, 1]) as level
    cross join lateral (
      select id, run_at, attempts >= max_attempts as is_spent
      from jobs
      where state = 'waiting'
        and run_at <= now()
        and kind = wanted.kind
        and priority = level
      order by run_at, id
      limit $2
      for update skip locked
    ) as job
  )
  update jobs
  set state = case when due.is_spent then 'dead' else 'waiting' end,
      attempts = case when due.is_spent then attempts else attempts + 1 end,
      last_error = case when due.is_spent then 'the lease of the last try ran out' else last_error end,
      lease = gen_random_uuid(),
      run_at = clock_timestamp() + make_interval(secs => $3)
  from due
  where jobs.id = due.id
    and due.place <= $2
  returning ${JOB}, jobs.state`)

/** At most `limit` of each kind. */
export type Claim = { readonly kinds: readonly string[]; readonly limit: number; readonly leaseSeconds: number }

/**
 * Takes due jobs, oldest first; no two callers get the same one. A job whose last try ended without an answer, say because it
 * kills the process that runs it, is buried instead of tried for ever.
 */
export async function claim(queryable: Queryable, { kinds, limit, leaseSeconds }: Claim): Promise<readonly Job[]> {
  const { rows } = await queryable.query(CLAIM, [kinds, limit, leaseSeconds])
  return rows.filter(({ state }) => state === 'waiting')
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
      and state = 'waiting'
    for key share
  )`
}

const HELD = `kind = $1 and key = $2 and lease = $3 and state = 'waiting'`

const EXTEND = statement(`
  update jobs
  set run_at = clock_timestamp() + make_interval(secs => $4)
  where ${HELD}`)

/** Prolongs the lease. Like all that follow it answers false when the lease was lost: stop, another worker is at it. */
export function extend(queryable: Queryable, lease: Lease, leaseSeconds: number): Promise<boolean> {
  return change(queryable, EXTEND, lease, leaseSeconds)
}

const FINISH = statement(`
  update jobs
  set state = 'done',
      lease = null,
      last_error = null,
      finished_at = clock_timestamp()
  where ${HELD}`)

export function finish(queryable: Queryable, lease: Lease): Promise<boolean> {
  return change(queryable, FINISH, lease)
}

const RELEASE = statement(`
  update jobs
  set attempts = attempts - 1,
      lease = null,
      priority = coalesce($5, priority),
      run_at = clock_timestamp() + make_interval(secs => $4)
  where ${HELD}`)

/** What is urgent is claimed before all that is not. */
export type Priority = 'urgent' | 'usual'

/** Gives the job back without counting the try: it is not finished, and nothing went wrong. */
export function release(
  queryable: Queryable,
  lease: Lease,
  delaySeconds: number,
  priority?: Priority,
): Promise<boolean> {
  return change(queryable, RELEASE, lease, delaySeconds, priority && (priority === 'urgent' ? 0 : 1))
}

// 0.2 s after the first try, doubled each time, give or take half, so that jobs that failed together do not return together.
const RETRY = statement(`
  update jobs
  set state = case when attempts >= max_attempts then 'dead' else 'waiting' end,
      lease = null,
      last_error = $4,
      run_at = clock_timestamp() + make_interval(secs => coalesce(
        $5,
        least(${BACKOFF_SECONDS_MAX}, 0.1 * power(2, least(attempts, 20))) * (0.5 + random())
      ))
  where ${HELD}`)

export type Failure = { readonly error: string; readonly delaySeconds?: number }

/** The try failed: once more later, by default with growing delays, or never again when it was the last one. */
export function retry(queryable: Queryable, lease: Lease, { error, delaySeconds }: Failure): Promise<boolean> {
  return change(queryable, RETRY, lease, error.slice(0, ERROR_LENGTH_MAX), delaySeconds ?? null)
}

const FORGET = statement(`
  delete from jobs
  where ${HELD}`)

/** There was nothing to do after all. Unlike a finished job, the same one may be queued again. */
export function forget(queryable: Queryable, lease: Lease): Promise<boolean> {
  return change(queryable, FORGET, lease)
}

const BURY = statement(`
  update jobs
  set state = 'dead',
      lease = null,
      last_error = $4
  where ${HELD}`)

/** Trying again is of no use. The job stays for people to look at. */
export function bury(queryable: Queryable, lease: Lease, error: string): Promise<boolean> {
  return change(queryable, BURY, lease, error.slice(0, ERROR_LENGTH_MAX))
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

const REQUEUE = statement(`
  update jobs
  set state = 'waiting',
      attempts = 0,
      lease = null,
      run_at = now()
  where kind = $1
    and key = $2
    and state = 'dead'`)

/** An operator's answer to a buried job. False when there is no such job. */
export async function requeue(
  queryable: Queryable,
  job: { readonly kind: string; readonly key: string },
): Promise<boolean> {
  const { rowCount } = await queryable.query(REQUEUE, [job.kind, job.key])
  return rowCount === 1
}

const HURRY = statement(`
  update jobs
  set run_at = least(run_at, now() + make_interval(secs => $3))
  where kind = $1
    and key = $2
    and state = 'waiting'
    and lease is null`)

/** Does not wait for the next try, or not as long. False when somebody is at work on it, or there is no such job. */
export async function hurry(
  queryable: Queryable,
  job: { readonly kind: string; readonly key: string },
  delaySeconds = 0,
): Promise<boolean> {
  const { rowCount } = await queryable.query(HURRY, [job.kind, job.key, delaySeconds])
  return rowCount === 1
}

const DEAD = statement<DeadJob>(`
  select id, kind, key, attempts, last_error as "lastError"
  from jobs
  where state = 'dead'
  order by id
  limit $1`)

export async function listDead(queryable: Queryable, limit: number): Promise<readonly DeadJob[]> {
  return (await queryable.query(DEAD, [limit])).rows
}

// Two selects, because one condition over both states would read every finished job.
const COUNTS = statement<JobCounts>(`
  with open as (
    select kind, run_at <= now() as is_due, false as is_dead, run_at from jobs where state = 'waiting'
    union all
    select kind, false, true, run_at from jobs where state = 'dead'
  )
  select kind,
         count(*) filter (where is_due)::int as due,
         count(*) filter (where not is_due and not is_dead)::int as later,
         count(*) filter (where is_dead)::int as dead,
         coalesce(extract(epoch from now() - min(run_at) filter (where is_due)), 0)::float8 as "oldestDueSeconds"
  from open
  group by kind
  order by kind`)

/** For health checks and metrics: the kinds that have anything open. */
export async function countJobs(queryable: Queryable): Promise<readonly JobCounts[]> {
  return (await queryable.query(COUNTS)).rows
}

const DELETE_FINISHED = statement(`
  with old as (
    select id
    from jobs
    where state = 'done'
      and finished_at < now() - make_interval(secs => $1)
    order by finished_at
    limit $2
    for update skip locked
  )
  delete from jobs
  using old
  where jobs.id = old.id`)

/** Forgets finished jobs, at most `limit` of them; returns how many. Their keys may then be queued again. */
export async function deleteFinished(
  queryable: Queryable,
  { olderThanSeconds, limit }: { readonly olderThanSeconds: number; readonly limit: number },
): Promise<number> {
  const { rowCount } = await queryable.query(DELETE_FINISHED, [olderThanSeconds, limit])
  return rowCount ?? 0
}
