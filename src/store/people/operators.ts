import { newId } from '../../base/id.ts'
import type { Role } from '../../domain/operator.ts'
import type { Database, Queryable, Transaction } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'

/** Somebody who runs the shop. */
export type Person = {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly state: 'active' | 'revoked'
  readonly createdAt: number
}

export type ListedPerson = Person & {
  readonly sessions: number
  readonly tokens: number
  readonly seenAt: number | null
}

type Row = { id: string; name: string; role: Role; state: Person['state']; created_at: Date }

/** Whoever adds, promotes or revokes somebody waits for whoever does so at the same moment: two last admins cannot revoke each other. */
const TURN = statement(`
  select pg_advisory_xact_lock(hashtext('operators'))`)

const FIND = statement<Row>(`
  select id, name, role, state, created_at
  from operators
  where id = $1`)

const INSERT = statement<Row>(`
  insert into operators (id, name, role, created_at, updated_at)
  values ($1, $2, $3, $4, $4)
  returning id, name, role, state, created_at`)

const LIST = statement<Row & { sessions: number; tokens: number; seen_at: Date | null }>(`
  select o.id, o.name, o.role, o.state, o.created_at,
         (select count(*)::int
          from operator_sessions s
          where s.operator_id = o.id
            and s.ended_at is null
            and s.expires_at > $1
            and s.seen_at > $2) as sessions,
         (select count(*)::int
          from operator_tokens t
          where t.operator_id = o.id
            and t.kind = 'personal'
            and t.expires_at > $1) as tokens,
         (select max(s.seen_at) from operator_sessions s where s.operator_id = o.id) as seen_at
  from operators o
  order by o.state, lower(o.name), o.id
  limit 1000`)

/** `idleSince`: a session that was last seen before has run out. */
export async function listPeople(
  queryable: Queryable,
  now: number,
  idleSince: number,
): Promise<readonly ListedPerson[]> {
  const { rows } = await queryable.query(LIST, [new Date(now), new Date(idleSince)])
  return rows.map(({ sessions, tokens, seen_at, ...row }) => ({
    ...fromRow(row),
    sessions,
    tokens,
    seenAt: seen_at?.getTime() ?? null,
  }))
}

export async function findPerson(queryable: Queryable, id: string): Promise<Person | null> {
  const { rows } = await queryable.query(FIND, [id])
  return rows[0] ? fromRow(rows[0]) : null
}

const HOLD = statement<Row>(`
  select id, name, role, state, created_at
  from operators
  where id = $1
  for share`)

/** As they are, and as they stay until the transaction ends. Null: unknown, or revoked. */
export async function lockPerson(tx: Transaction, id: string): Promise<Person | null> {
  const { rows } = await tx.query(HOLD, [id])
  return rows[0]?.state === 'active' ? fromRow(rows[0]) : null
}

const BY_NAME = statement<Row>(`
  select id, name, role, state, created_at
  from operators
  where lower(name) = lower($1)
    and state = 'active'`)

export async function findByName(queryable: Queryable, name: string): Promise<Person | null> {
  const { rows } = await queryable.query(BY_NAME, [name])
  return rows[0] ? fromRow(rows[0]) : null
}

/** Null when somebody has that name already. */
export async function addPerson(
  tx: Transaction,
  doer: Doer,
  { name, role }: { readonly name: string; readonly role: Role },
): Promise<Person | null> {
  await tx.query(TURN)
  if (await findByName(tx, name)) return null
  const person = await insertPerson(tx, { id: newId('opr', doer.random), name, role, at: doer.at })
  await recordDeeds(tx, doer, [
    { deed: 'operator.added', about: aboutPerson(person), before: null, after: told(person) },
  ])
  return person
}

async function insertPerson(
  tx: Transaction,
  { id, name, role, at }: { readonly id: string; readonly name: string; readonly role: Role; readonly at: number },
): Promise<Person> {
  return fromRow((await tx.query(INSERT, [id, name, role, new Date(at)])).rows[0]!)
}

const ADMINS = statement<{ admins: number }>(`
  select count(*)::int as admins
  from operators
  where role = 'admin'
    and state = 'active'`)

/** Waits for its turn: nobody can become an admin, or cease to be one, before the transaction ends. */
export async function countAdmins(tx: Transaction): Promise<number> {
  await tx.query(TURN)
  return (await tx.query(ADMINS)).rows[0]!.admins
}

const CHANGE = statement<Row>(`
  update operators
  set role = $2,
      state = $3,
      updated_at = $4
  where id = $1
  returning id, name, role, state, created_at`)

const END_SESSIONS = statement<{ id: string }>(`
  update operator_sessions
  set ended_at = $2
  where operator_id = $1
    and ended_at is null
  returning id`)

const END_TOKENS = statement(`
  update operator_tokens
  set expires_at = least(expires_at, $2)
  where operator_id = $1`)

const END_SEEN = statement(`
  with seen as (
    update operator_tokens
    set expires_at = least(expires_at, $2)
    where made_by = $1
      and case kind when 'link' then used_at is null else operator_id <> $1 end
    returning id
  )
  update operator_sessions
  set ended_at = $2
  where token_id in (select id from seen)
    and ended_at is null`)

type PersonChange = { readonly role: Role } | { readonly state: 'revoked' }

export type PersonOutcome = Person | 'unknown' | 'last_admin'

/**
 * Whoever gets another role has to sign in again, and whoever is revoked cannot. Who is no admin any more lets nobody in: they have seen the
 * links and tokens that they made, and could come in as the person that one is for.
 */
export function changePerson(db: Database, doer: Doer, id: string, change: PersonChange): Promise<PersonOutcome> {
  return db.transaction(async (tx) => {
    const admins = await countAdmins(tx)
    const person = await findPerson(tx, id)
    if (!person || person.state === 'revoked') return 'unknown'
    const after = { ...person, ...change }
    if (after.role === person.role && after.state === person.state) return person
    const isAdminAfter = after.role === 'admin' && after.state === 'active'
    if (person.role === 'admin' && !isAdminAfter && admins === 1) return 'last_admin'
    const at = new Date(doer.at)
    await tx.query(CHANGE, [id, after.role, after.state, at])
    const { rows: ended } = await tx.query(END_SESSIONS, [id, at])
    if (!isAdminAfter) await tx.query(END_SEEN, [id, at])
    if (after.state === 'revoked') await tx.query(END_TOKENS, [id, at])
    await recordDeeds(tx, doer, [
      {
        deed: after.state === 'revoked' ? 'operator.revoked' : 'operator.promoted',
        about: aboutPerson(person),
        before: told(person),
        after: { ...told(after), sessionsEnded: ended.length },
      },
    ])
    return after
  })
}

function aboutPerson({ id }: Pick<Person, 'id'>): { kind: 'operator'; id: string } {
  return { kind: 'operator', id }
}

function told({ name, role, state }: Person): { name: string; role: Role; state: Person['state'] } {
  return { name, role, state }
}

function fromRow({ id, name, role, state, created_at }: Row): Person {
  return { id, name, role, state, createdAt: created_at.getTime() }
}
