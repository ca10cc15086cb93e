import { newId } from '../../base/id.ts'
import type { Secret } from '../../base/secret.ts'
import { newToken, tokenDigest } from '../../base/token.ts'
import type { Operator, Role } from '../../domain/operator.ts'
import type { Database, Queryable, Transaction } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'

export const SESSION_MS = 12 * 3_600_000
export const IDLE_MS = 3_600_000
/** A session that is used all the time is written to once a minute. */
const TOUCH_MS = 60_000
const KEEP_MS = 30 * 86_400_000

type HeldSession = {
  readonly id: string
  readonly via: 'console' | 'sandbox'
  readonly operator: { readonly id: string; readonly name: string; readonly role: Role }
  /** Was it not seen for a while? */
  readonly isStale: boolean
  readonly beganAt: number
  readonly beganWith: string
}

/** By what somebody came in. Empty: before that was written down. */
export const BEGAN_WITH = { token: 'personal token', link: 'link', first: 'first link' } as const

const FIND = statement<{
  id: string
  via: HeldSession['via']
  began_at: Date
  began_with: string
  seen_at: Date
  operator_id: string
  name: string
  role: Role
}>(`
  select s.id, s.via, s.began_at, s.began_with, s.seen_at, o.id as operator_id, o.name, o.role
  from operator_sessions s
  join operators o on o.id = s.operator_id
  where s.digest = $1
    and s.ended_at is null
    and s.expires_at > $2
    and s.seen_at > $3
    and o.state = 'active'`)

/** Session, role and state in one look: what an admin ended a moment ago is over. It only reads, so that it works where nothing can be written. */
export async function findSession(queryable: Queryable, value: string, now: number): Promise<HeldSession | null> {
  const { rows } = await queryable.query(FIND, [tokenDigest(value), new Date(now), new Date(now - IDLE_MS)])
  const [row] = rows
  if (!row) return null
  const { id, via, began_at, began_with, seen_at, operator_id, name, role } = row
  const operator = { id: operator_id, name, role }
  const isStale = seen_at.getTime() < now - TOUCH_MS
  return { id, via, operator, isStale, beganAt: began_at.getTime(), beganWith: began_with }
}

const TOUCH = statement(`
  update operator_sessions
  set seen_at = greatest(seen_at, $2)
  where id = $1
    and ended_at is null`)

export async function touchSession(queryable: Queryable, id: string, now: number): Promise<void> {
  await queryable.query(TOUCH, [id, new Date(now)])
}

const INSERT = statement(`
  insert into operator_sessions (id, digest, operator_id, via, device, address, began_at, seen_at, expires_at, began_with, token_id)
  values ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10)`)

// What somebody else is at is left to the next: nobody waits here while others wait for the audit log.
const FORGET = statement(`
  delete from operator_sessions
  where id in (
    select id
    from operator_sessions
    where expires_at < $1
    for update skip locked)`)

type Beginning = {
  readonly device: string
  readonly how: string
  /** What let them in. The session ends no later than it does, if it is one that can be used again. */
  readonly token: { readonly id: string; readonly until: number | null }
}

export type BegunSession = { readonly id: string; readonly value: Secret; readonly operator: Operator }

/** Always under a new value: whatever the browser held before opens nothing. */
export async function beginSession(
  tx: Transaction,
  doer: Doer & { readonly who: { readonly via: HeldSession['via'] } },
  { device, how, token }: Beginning,
): Promise<BegunSession> {
  const { who, at, random } = doer
  const id = newId('ses', random)
  const value = newToken('session', random)
  await tx.query(FORGET, [new Date(at - KEEP_MS)])
  const until = Math.min(at + SESSION_MS, token.until ?? Number.POSITIVE_INFINITY)
  const facts = [who.id, who.via, device, who.address, new Date(at), new Date(until)]
  await tx.query(INSERT, [id, tokenDigest(value.reveal()), ...facts, how, token.id])
  await recordDeeds(tx, doer, [
    { deed: 'session.begun', about: { kind: 'session', id }, before: null, after: { how, device } },
  ])
  return { id, value, operator: who }
}

const END = statement<{ id: string; operator_id: string }>(`
  update operator_sessions
  set ended_at = $2
  where id = $1
    and ended_at is null
    and expires_at > $2
  returning id, operator_id`)

/** False when there is none that goes on. */
export function endSession(db: Database, doer: Doer, id: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query(END, [id, new Date(doer.at)])
    const [row] = rows
    if (!row) return false
    const before = { operatorId: row.operator_id }
    await recordDeeds(tx, doer, [{ deed: 'session.ended', about: { kind: 'session', id }, before, after: null }])
    return true
  })
}

const REPLACE = statement(`
  update operator_sessions
  set ended_at = $2
  where digest = $1
    and ended_at is null`)

/** What this browser held until now. */
export async function replaceSession(tx: Transaction, value: string, at: number): Promise<void> {
  await tx.query(REPLACE, [tokenDigest(value), new Date(at)])
}

export type ListedSession = {
  readonly id: string
  readonly operatorId: string
  readonly name: string
  readonly via: HeldSession['via']
  readonly device: string
  readonly address: string
  readonly beganWith: string
  readonly beganAt: number
  readonly seenAt: number
  readonly expiresAt: number
}

type ListRow = {
  id: string
  operator_id: string
  name: string
  via: HeldSession['via']
  device: string
  address: string
  began_at: Date
  began_with: string
  seen_at: Date
  expires_at: Date
}

const LIST = statement<ListRow>(`
  select s.id, s.operator_id, o.name, s.via, s.device, s.address, s.began_at, s.began_with, s.seen_at, s.expires_at
  from operator_sessions s
  join operators o on o.id = s.operator_id
  where s.ended_at is null
    and s.expires_at > $1
    and s.seen_at > $2
    and o.state = 'active'
  order by s.seen_at desc, s.id
  limit 1000`)

/** Those that go on. */
export async function listSessions(queryable: Queryable, now: number): Promise<readonly ListedSession[]> {
  const { rows } = await queryable.query(LIST, [new Date(now), new Date(now - IDLE_MS)])
  return rows.map(({ operator_id, began_at, began_with, seen_at, expires_at, ...row }) => ({
    ...row,
    operatorId: operator_id,
    beganWith: began_with,
    beganAt: began_at.getTime(),
    seenAt: seen_at.getTime(),
    expiresAt: expires_at.getTime(),
  }))
}
