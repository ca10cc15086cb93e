import { isoTime } from '../../base/clock.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import type { Lease } from '../../domain/lease.ts'
import type { Queryable, Transaction } from '../db.ts'
import { type EventRow, fromEventRow, type LoggedEvent } from '../events.ts'
import { leaseHeld } from '../jobs.ts'
import { statement } from '../statement.ts'
import { queueKind } from './endpoints.ts'

// One row per event and endpoint; one job ("queue") per endpoint and object, which sends what is pending, oldest first. The job's payload
// says through which position there is something to send: whoever finishes the queue must have seen that far.

/** One try, as the log keeps it. */
export type WebhookAnswer = {
  readonly at: number
  /** Null: there was no answer. */
  readonly status: number | null
  readonly ms: number
  /** The first characters of what was answered, or what went wrong. */
  readonly text: string
}

export type DeliveryState = 'pending' | 'delivered' | 'dead'

export type PendingDelivery = { readonly event: LoggedEvent; readonly attempts: number; readonly eventKey: string }

export type LoggedDelivery = {
  readonly eventId: string
  readonly position: bigint
  readonly subject: string
  readonly type: string
  readonly state: DeliveryState
  readonly attempts: number
  readonly answers: readonly {
    readonly at: string
    readonly status: number | null
    readonly ms: number
    readonly text: string
  }[]
}

/** Gives each queue that has something new a job, or tells its job how far there is something to send. Reads `queued`. */
const fillQueues = (mark = '') => `
  insert into jobs (kind, key, payload)
  select '${queueKind('')}' || endpoint_id, subject, jsonb_build_object('through', max(position)::text)
  from queued
  group by endpoint_id, subject
  order by endpoint_id, subject
  on conflict on constraint jobs_kind_key do update
  set payload = jobs.payload
        || jsonb_build_object('through', greatest((jobs.payload ->> 'through')::bigint, (excluded.payload ->> 'through')::bigint)::text)${mark}`

export const FILL_QUEUES = fillQueues()

// Whoever is about to finish the queue has seen these as told: it must not look to them as if nothing had come.
const REPLAYED = ` || jsonb_build_object('replays', coalesce((jobs.payload ->> 'replays')::int, 0) + 1)`

const REPLAY = statement<{ endpoint_id: string; position: string; subject: string }>(`
  insert into webhook_deliveries (endpoint_id, event_id, position, subject)
  select w.id, e.id, e.position, e.subject
  from webhook_endpoints w
  join events e
    on e.position > $2
   and e.position <= $3
   and (w.event_types is null or e.type = any (w.event_types))
  left join webhook_deliveries d
    on d.endpoint_id = w.id
   and d.event_id = e.id
  where w.id = $1
    and (d.state is null or d.state = any ($4))
  on conflict (endpoint_id, event_id) do update
  set state = 'pending',
      attempts = 0,
      updated_at = now()
  returning endpoint_id, position, subject`)

const REQUEUE = statement(`
  with queued as (
    select $1 as endpoint_id, position, subject
    from unnest($2::bigint[], $3::text[]) as q (position, subject)
  )
  ${fillQueues(REPLAYED)},
      run_at = least(jobs.run_at, case when jobs.lease is null then now() else jobs.run_at end)`)

export type ReplayRange = {
  readonly after: bigint
  readonly through: bigint
  /** What is sent again: the dead letters, or all, delivered or not. What was never queued for this endpoint is always among them. */
  readonly which: 'dead' | 'all'
}

/** Sends events once more, with the ids they had. Returns how many. */
export async function replayDeliveries(tx: Transaction, endpointId: string, range: ReplayRange): Promise<number> {
  const states: readonly DeliveryState[] = range.which === 'all' ? ['dead', 'delivered'] : ['dead']
  const { rows } = await tx.query(REPLAY, [endpointId, range.after.toString(), range.through.toString(), states])
  if (rows.length === 0) return 0
  await tx.query(REQUEUE, [endpointId, rows.map(({ position }) => position), rows.map(({ subject }) => subject)])
  return rows.length
}

const NEXT = statement<EventRow & { event_id: string; attempts: number }>(`
  select e.position, e.subject, e.sequence, e.type, e.data, e.created_at, d.event_id, d.attempts
  from webhook_deliveries d
  join events e on e.id = d.event_id
  where d.endpoint_id = $1
    and d.subject = $2
    and d.state = 'pending'
  order by d.position
  limit $3`)

/** What a queue has to send now, oldest first. */
export async function nextDeliveries(
  queryable: Queryable,
  endpointId: string,
  subject: string,
  limit: number,
): Promise<readonly PendingDelivery[]> {
  const { rows } = await queryable.query(NEXT, [endpointId, subject, limit])
  return rows.map((row) => ({ event: fromEventRow(row), attempts: row.attempts, eventKey: row.event_id }))
}

/** So many answers are kept of one delivery. */
const ANSWERS_MAX = 20

const RECORD = statement<{ state: DeliveryState }>(`
  update webhook_deliveries
  set state = $6,
      attempts = attempts + 1,
      answers = (case when jsonb_array_length(answers) >= ${ANSWERS_MAX} then answers - 0 else answers end) || $7::jsonb,
      updated_at = now()
  where endpoint_id = $4
    and event_id = $5
    and ${leaseHeld({ kind: '$1', key: '$2', lease: '$3::uuid' })}
  returning state`)

/** Writes down what a receiver said. False when the queue is somebody else's by now. */
export async function recordDelivery(
  queryable: Queryable,
  lease: Lease,
  delivery: {
    readonly endpointId: string
    readonly eventKey: string
    readonly state: DeliveryState
    readonly answer: WebhookAnswer
  },
): Promise<boolean> {
  const { endpointId, eventKey, state, answer } = delivery
  const { rows } = await queryable.query(RECORD, [
    lease.kind,
    lease.key,
    lease.lease,
    endpointId,
    eventKey,
    state,
    stringify([{ ...answer, at: isoTime(answer.at) }]),
  ])
  return rows.length === 1
}

const FINISH_QUEUE = statement(`
  delete from jobs
  where kind = $1
    and key = $2
    and lease = $3
    and payload = $4::jsonb`)

/** The queue is empty as far as it was seen. False when more came meanwhile, or somebody else has it: it is then left as it is. */
export async function finishQueue(queryable: Queryable, lease: Lease, payload: JsonObject): Promise<boolean> {
  const { rowCount } = await queryable.query(FINISH_QUEUE, [lease.kind, lease.key, lease.lease, stringify(payload)])
  return rowCount === 1
}

type LogRow = EventRow & { state: DeliveryState; attempts: number; answers: LoggedDelivery['answers'] }

/** The state stands in the text: what is given up has an index of its own. */
const log = (only: string) =>
  statement<LogRow>(`
  select e.position, e.subject, e.sequence, e.type, e.data, e.created_at, d.state, d.attempts, d.answers
  from webhook_deliveries d
  join events e on e.id = d.event_id
  where d.endpoint_id = $1
    and ($2::bigint is null or d.position < $2)
    ${only}
  order by d.position desc
  limit $3`)

const LOGS = {
  all: log(''),
  pending: log(`and d.state = 'pending'`),
  delivered: log(`and d.state = 'delivered'`),
  dead: log(`and d.state = 'dead'`),
}

export type DeliveryFilter = {
  readonly before?: bigint | undefined
  readonly state?: DeliveryState | undefined
  readonly limit: number
}

/** The delivery log of an endpoint, newest first. */
export async function listDeliveries(
  queryable: Queryable,
  endpointId: string,
  { before, state, limit }: DeliveryFilter,
): Promise<readonly LoggedDelivery[]> {
  const { rows } = await queryable.query(LOGS[state ?? 'all'], [endpointId, before?.toString() ?? null, limit])
  return rows.map((row) => {
    const { id, position, subject, type } = fromEventRow(row)
    const { state, attempts, answers } = row
    return { eventId: id, position, subject, type, state, attempts, answers }
  })
}

const BACKLOG = statement<{
  endpoint_id: string
  is_enabled: boolean
  pending: number
  dead: number
  oldest_seconds: number
}>(`
  select w.id as endpoint_id, w.state = 'enabled' as is_enabled,
         count(*) filter (where d.state = 'pending')::int as pending,
         count(*) filter (where d.state = 'dead')::int as dead,
         coalesce(extract(epoch from now() - min(d.created_at) filter (where d.state = 'pending')), 0)::float8 as oldest_seconds
  from webhook_endpoints w
  left join webhook_deliveries d
    on d.endpoint_id = w.id
   and d.state in ('pending', 'dead')
  group by w.id
  order by w.id`)

export type WebhookBacklog = {
  readonly endpointId: string
  readonly isEnabled: boolean
  readonly pending: number
  readonly dead: number
  readonly oldestSeconds: number
}

/** What endpoints have not heard yet. */
export async function webhookBacklog(queryable: Queryable): Promise<readonly WebhookBacklog[]> {
  const { rows } = await queryable.query(BACKLOG)
  return rows.map(({ endpoint_id, is_enabled, pending, dead, oldest_seconds }) => ({
    endpointId: endpoint_id,
    isEnabled: is_enabled,
    pending,
    dead,
    oldestSeconds: oldest_seconds,
  }))
}
