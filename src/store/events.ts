import { createHash } from 'node:crypto'
import type { JsonObject } from '../base/json.ts'
import type { EventType } from '../domain/event.ts'
import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

/** One state change, as operators and webhooks hear of it. */
export type LoggedEvent = {
  /** The same for ever, and for everybody who is told: receivers know a repetition by it. */
  readonly id: string
  /** Its place in the log: readers ask for what comes after. */
  readonly position: bigint
  /** The object that changed, and the how-manieth change of it this was. */
  readonly subject: string
  readonly sequence: number
  readonly type: EventType
  readonly data: JsonObject
  readonly at: number
}

export type EventRow = {
  position: string
  subject: string
  sequence: number
  type: EventType
  data: JsonObject
  created_at: Date
}

const READ = statement<EventRow>(`
  select position, subject, sequence, type, data, created_at
  from events
  where position > $1
  order by position
  limit $2`)

export async function readEvents(queryable: Queryable, after: bigint, limit: number): Promise<readonly LoggedEvent[]> {
  const { rows } = await queryable.query(READ, [after.toString(), limit])
  return rows.map(fromEventRow)
}

/** Of which types and about what; all where nothing is said. */
export type EventSieve = {
  readonly types?: readonly EventType[] | undefined
  readonly subject?: string | undefined
}

export function fitsSieve(event: Pick<LoggedEvent, 'type' | 'subject'>, { types, subject }: EventSieve): boolean {
  return (types?.includes(event.type) ?? true) && (subject === undefined || event.subject === subject)
}

export type NewestEvents = EventSieve & { readonly before?: bigint | undefined; readonly limit: number }

const COLUMNS = 'position, subject, sequence, type, data, created_at'
const BEFORE = 'position < coalesce($1::bigint, 9223372036854775807)'

// Each has an index of its own: the log, the types in it, and the subjects.
const NEWEST = statement<EventRow>(`
  select ${COLUMNS}
  from events
  where ${BEFORE}
  order by position desc
  limit $2`)
const NEWEST_OF_TYPES = statement<EventRow>(`
  select each.*
  from unnest($3::text[]) as wanted (type)
  cross join lateral (
    select ${COLUMNS}
    from events e
    where e.type = wanted.type
      and e.position is not null
      and ${BEFORE}
    order by e.position desc
    limit $2
  ) as each
  order by each.position desc
  limit $2`)
const NEWEST_OF_SUBJECT = statement<EventRow>(`
  select ${COLUMNS}
  from events
  where subject = $3
    and ${BEFORE}
    and ($4::text[] is null or type = any ($4))
  order by sequence desc
  limit $2`)

/** What happened last comes first. */
export async function newestEvents(queryable: Queryable, question: NewestEvents): Promise<readonly LoggedEvent[]> {
  const { before, limit, types, subject } = question
  const page = [before?.toString() ?? null, limit]
  const { rows } =
    subject !== undefined
      ? await queryable.query(NEWEST_OF_SUBJECT, [...page, subject, types ?? null])
      : types === undefined
        ? await queryable.query(NEWEST, page)
        : await queryable.query(NEWEST_OF_TYPES, [...page, [...new Set(types)]])
  return rows.map(fromEventRow)
}

const FORGOTTEN = statement<{ forgotten: string }>(`
  select forgotten
  from event_tail`)

/** The last position that is no longer kept; 0 while the log is whole. */
export async function forgottenPosition(queryable: Queryable): Promise<bigint> {
  const { rows } = await queryable.query(FORGOTTEN)
  return BigInt(rows[0]?.forgotten ?? 0)
}

const TAIL = statement<{ position: string }>(`
  select position
  from event_tail`)

export async function lastPosition(queryable: Queryable): Promise<bigint> {
  const { rows } = await queryable.query(TAIL)
  return BigInt(rows[0]?.position ?? 0)
}

export function fromEventRow({ position, subject, sequence, type, data, created_at }: EventRow): LoggedEvent {
  return {
    id: eventId(subject, sequence, type),
    position: BigInt(position),
    subject,
    sequence,
    type,
    data,
    at: created_at.getTime(),
  }
}

/**
 * Made of what happened, not of a counter: a store that was restored from a backup counts from an earlier number again, and a receiver
 * would take a new event for one that it has seen.
 */
function eventId(subject: string, sequence: number, type: EventType): string {
  const digest = createHash('sha256').update(`${subject}\n${sequence}\n${type}`).digest('hex')
  return `evt_${digest.slice(0, 32)}`
}
