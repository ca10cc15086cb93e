import { Secret } from '../../base/secret.ts'
import type { EventType } from '../../domain/event.ts'
import type { Queryable, Transaction } from '../db.ts'
import { statement } from '../statement.ts'

/** Somebody's address that wants to hear of events. */
export type Endpoint = {
  readonly id: string
  readonly url: string
  readonly description: string
  /** Null: every type. */
  readonly eventTypes: readonly EventType[] | null
  readonly state: 'enabled' | 'disabled'
  /** Why it is disabled. */
  readonly reason: string | null
  /** The newest first. Each signs every message; the receiver needs to know only one of them. */
  readonly secrets: readonly Secret[]
  readonly createdAt: number
}

type Row = {
  id: string
  url: string
  description: string
  event_types: EventType[] | null
  state: 'enabled' | 'disabled'
  state_reason: string | null
  secret: string
  previous_secret: string | null
  created_at: Date
}

const COLUMNS = `
  id, url, description, event_types, state, state_reason, secret,
  case when previous_until > now() then previous_secret end as previous_secret,
  created_at`

/** Why an endpoint is disabled that nobody disabled. */
export const GONE_REASON = 'The receiver answered 410: it is gone.'

/** Queue of an endpoint in the table of jobs: one job for each object that has something to tell. */
export function queueKind(endpointId: string): string {
  return `webhook/${endpointId}`
}

const INSERT = statement<Row>(`
  insert into webhook_endpoints (id, url, description, event_types, secret)
  values ($1, $2, $3, $4, $5)
  returning ${COLUMNS}`)

type NewEndpoint = Pick<Endpoint, 'id' | 'url' | 'description' | 'eventTypes'> & { readonly secret: Secret }

export async function insertEndpoint(queryable: Queryable, endpoint: NewEndpoint): Promise<Endpoint> {
  const { id, url, description, eventTypes, secret } = endpoint
  const { rows } = await queryable.query(INSERT, [id, url, description, eventTypes, secret.reveal()])
  return fromRow(rows[0]!)
}

const LIST = statement<Row>(`
  select ${COLUMNS}
  from webhook_endpoints
  order by created_at, id
  limit 1000`)

export async function listEndpoints(queryable: Queryable): Promise<readonly Endpoint[]> {
  return (await queryable.query(LIST)).rows.map(fromRow)
}

const FIND = statement<Row>(`
  select ${COLUMNS}
  from webhook_endpoints
  where id = $1`)

export async function findEndpoint(queryable: Queryable, id: string): Promise<Endpoint | null> {
  const { rows } = await queryable.query(FIND, [id])
  return rows[0] ? fromRow(rows[0]) : null
}

const ROTATE = statement<Row>(`
  update webhook_endpoints
  set previous_secret = secret,
      previous_until = now() + make_interval(secs => $3),
      secret = $2,
      updated_at = now()
  where id = $1
  returning ${COLUMNS}`)

/** From now on both secrets sign, until the older one has run out. */
export async function rotateSecret(
  queryable: Queryable,
  id: string,
  secret: Secret,
  overlapSeconds: number,
): Promise<Endpoint | null> {
  const { rows } = await queryable.query(ROTATE, [id, secret.reveal(), overlapSeconds])
  return rows[0] ? fromRow(rows[0]) : null
}

const SET_STATE = statement<Row>(`
  update webhook_endpoints
  set state = $2,
      state_reason = $3,
      updated_at = now()
  where id = $1
  returning ${COLUMNS}`)

/** A disabled endpoint is told nothing. What was pending waits; what happens meanwhile can be replayed. */
export async function setEndpointState(
  queryable: Queryable,
  id: string,
  state: Endpoint['state'],
  reason: string | null,
): Promise<Endpoint | null> {
  const { rows } = await queryable.query(SET_STATE, [id, state, reason])
  return rows[0] ? fromRow(rows[0]) : null
}

const DELETE = statement(`
  delete from webhook_endpoints
  where id = $1`)

const DELETE_QUEUES = statement(`
  delete from jobs
  where kind = $1`)

/** Its log and whatever was pending go with it. False when there is none. */
export async function deleteEndpoint(tx: Transaction, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(DELETE, [id])
  await tx.query(DELETE_QUEUES, [queueKind(id)])
  return rowCount === 1
}

function fromRow(row: Row): Endpoint {
  const secrets = [row.secret, ...(row.previous_secret === null ? [] : [row.previous_secret])]
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    eventTypes: row.event_types,
    state: row.state,
    reason: row.state_reason,
    secrets: secrets.map((secret) => new Secret(secret)),
    createdAt: row.created_at.getTime(),
  }
}
