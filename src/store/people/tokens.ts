import { isoTime } from '../../base/clock.ts'
import { newId } from '../../base/id.ts'
import type { Secret } from '../../base/secret.ts'
import { newToken, tokenDigest } from '../../base/token.ts'
import { FIRST_ADMIN, type Role } from '../../domain/operator.ts'
import type { Queryable, Transaction } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'

const LINK_MS = 15 * 60_000
const DAY_MS = 86_400_000
export const PERSONAL_DAYS = 90
export const PERSONAL_DAYS_MAX = 365
/** Used and expired ones are kept for so long: who let whom in is asked when a second person approves. */
const KEEP_MS = 30 * DAY_MS

/** A token that is used all the time is written to once a minute. */
const TOUCH_MS = 60_000

/** Told once, and never again. */
export type GivenToken = { readonly id: string; readonly secret: Secret; readonly expiresAt: number }

type TokenKind = 'link' | 'personal'

const INSERT = statement(`
  insert into operator_tokens (id, digest, kind, operator_id, made_by, made_at, expires_at, name)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`)

// Whoever finds one that somebody else is at leaves it to the next: nobody waits here while others wait for the audit log.
const FORGET = statement(`
  delete from operator_tokens
  where id in (
    select id
    from operator_tokens
    where expires_at < $1
    for update skip locked)`)

type TokenWish = {
  readonly kind: TokenKind
  /** Null: whoever becomes the first admin. */
  readonly operatorId: string | null
  readonly madeBy: string
  /** Of a personal one: what it is called, and how long it is good for. */
  readonly name?: string
  readonly days?: number
}

/** Without a deed: for links that nobody made. */
export async function insertToken(
  tx: Transaction,
  { kind, operatorId, madeBy, name = '', days = PERSONAL_DAYS }: TokenWish,
  { at, random }: Pick<Doer, 'at' | 'random'>,
): Promise<GivenToken> {
  const secret = newToken(kind, random)
  const id = newId('tok', random)
  const expiresAt = at + (kind === 'link' ? LINK_MS : days * DAY_MS)
  await tx.query(FORGET, [new Date(at - KEEP_MS)])
  const digest = tokenDigest(secret.reveal())
  await tx.query(INSERT, [id, digest, kind, operatorId, madeBy, new Date(at), new Date(expiresAt), name])
  return { id, secret, expiresAt }
}

export async function issueToken(tx: Transaction, doer: Doer, wish: Omit<TokenWish, 'madeBy'>): Promise<GivenToken> {
  const { kind, operatorId, name } = wish
  const given = await insertToken(tx, { ...wish, madeBy: doer.who.id }, doer)
  const deed = kind === 'link' ? 'operator.linked' : 'token.made'
  const about = { kind: 'operator', id: operatorId ?? 'first' }
  const made = kind === 'link' ? {} : { name: name ?? '', expiresAt: isoTime(given.expiresAt) }
  await recordDeeds(tx, doer, [{ deed, about, before: null, after: { tokenId: given.id, ...made } }])
  return given
}

const FOUNDING = statement<{ id: string }>(`
  select id
  from operator_tokens
  where operator_id is null
    and used_at is null
    and expires_at > $1
  limit 1`)

/** Is there a link by which somebody may still become the first admin? */
export async function hasFoundingLink(tx: Transaction, now: number): Promise<boolean> {
  return (await tx.query(FOUNDING, [new Date(now)])).rows.length > 0
}

export type HeldToken = {
  readonly id: string
  readonly kind: TokenKind
  readonly madeBy: string
  readonly isGood: boolean
  readonly expiresAt: number
  /** Of a personal one: was it not used for a while? */
  readonly isStale: boolean
  /** Null: the first admin, who is yet to be. */
  readonly operator: { readonly id: string; readonly name: string; readonly role: Role } | null
}

type HeldRow = {
  id: string
  kind: TokenKind
  made_by: string
  is_good: boolean
  expires_at: Date
  used_at: Date | null
  operator_id: string | null
  name: string | null
  role: Role | null
}

// One may be made by a call that was let in a moment before its maker was revoked, so who made it is looked at when it is used, too.
// A personal one that its owner made is theirs, whatever they are.
// Whom nobody added is no person: the shop's own token, or the shop itself.
const HELD = `
  select t.id, t.kind, t.made_by, t.operator_id, t.expires_at, t.used_at, o.name, o.role,
         t.expires_at > $2
           and (o.state is null or o.state = 'active')
           and (t.kind = 'personal' or t.used_at is null)
           and (m.id is null
             or (m.state = 'active' and m.role = 'admin')
             or (t.kind = 'personal' and t.made_by = t.operator_id)) as is_good
  from operator_tokens t
  left join operators o on o.id = t.operator_id
  left join operators m on m.id = t.made_by
  where t.digest = $1`

const FIND = statement<HeldRow>(HELD)
const LOCK = statement<HeldRow>(`${HELD} for update of t`)

export async function findToken(queryable: Queryable, digest: string, now: number): Promise<HeldToken | null> {
  return fromHeld((await queryable.query(FIND, [digest, new Date(now)])).rows, now)
}

/** Whoever comes with the same one waits, and finds it used. */
export async function lockToken(tx: Transaction, digest: string, now: number): Promise<HeldToken | null> {
  return fromHeld((await tx.query(LOCK, [digest, new Date(now)])).rows, now)
}

function fromHeld([row]: readonly HeldRow[], now: number): HeldToken | null {
  if (!row) return null
  const { id, kind, made_by, is_good, expires_at, used_at, operator_id, name, role } = row
  const operator = operator_id === null ? null : { id: operator_id, name: name!, role: role! }
  const isStale = kind === 'personal' && (used_at?.getTime() ?? 0) < now - TOUCH_MS
  return { id, kind, madeBy: made_by, isGood: is_good, expiresAt: expires_at.getTime(), isStale, operator }
}

const USE = statement(`
  update operator_tokens
  set used_at = $2,
      operator_id = $3
  where id = $1`)

export async function useToken(tx: Transaction, id: string, at: number, operatorId: string): Promise<void> {
  await tx.query(USE, [id, new Date(at), operatorId])
}

const TIED = statement<{ id: string }>(`
  with recursive tied (id) as (
    select $1::text
    union
    select case t.made_by when tied.id then t.operator_id else t.made_by end
    from tied
    join operator_tokens t on tied.id in (t.made_by, t.operator_id)
    where t.made_at > $3
      and t.operator_id is not null
      and (t.made_by <> $4 or (tied.id = $1 and $1 = $4))
  )
  select id
  from tied
  where id = $2`)

/**
 * Has one of them let the other in since then, or a person the other has let in, and so on? Each could be the same hand. The shop's own token
 * lets everybody in at first and ties nobody together, but whom it let in does not approve what it asks for.
 */
export async function areTied(
  queryable: Queryable,
  { one, other, since }: { readonly one: string; readonly other: string; readonly since: number },
): Promise<boolean> {
  return (await queryable.query(TIED, [one, other, new Date(since), FIRST_ADMIN.id])).rows.length > 0
}
