import { newId } from '../../base/id.ts'
import type { Secret } from '../../base/secret.ts'
import { newToken, tokenDigest } from '../../base/token.ts'
import { FIRST_ADMIN, type Role } from '../../domain/operator.ts'
import type { Queryable, Transaction } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'

const LINK_MS = 15 * 60_000
const PERSONAL_MS = 365 * 86_400_000
/** Used and expired ones are kept for so long: who let whom in is asked when a second person approves. */
const KEEP_MS = 30 * 86_400_000

/** Told once, and never again. */
export type GivenToken = { readonly id: string; readonly secret: Secret; readonly expiresAt: number }

type TokenKind = 'link' | 'personal'

const INSERT = statement(`
  insert into operator_tokens (id, digest, kind, operator_id, made_by, made_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7)`)

const FORGET = statement(`
  delete from operator_tokens
  where expires_at < $1`)

type TokenWish = {
  readonly kind: TokenKind
  /** Null: whoever becomes the first admin. */
  readonly operatorId: string | null
  readonly madeBy: string
}

/** Without a deed: for links that nobody made. */
export async function insertToken(
  tx: Transaction,
  { kind, operatorId, madeBy }: TokenWish,
  { at, random }: Pick<Doer, 'at' | 'random'>,
): Promise<GivenToken> {
  const secret = newToken(kind, random)
  const id = newId('tok', random)
  const expiresAt = at + (kind === 'link' ? LINK_MS : PERSONAL_MS)
  await tx.query(FORGET, [new Date(at - KEEP_MS)])
  const digest = tokenDigest(secret.reveal())
  await tx.query(INSERT, [id, digest, kind, operatorId, madeBy, new Date(at), new Date(expiresAt)])
  return { id, secret, expiresAt }
}

export async function issueToken(
  tx: Transaction,
  doer: Doer,
  { kind, operatorId }: Omit<TokenWish, 'madeBy'>,
): Promise<GivenToken> {
  const given = await insertToken(tx, { kind, operatorId, madeBy: doer.who.id }, doer)
  const deed = kind === 'link' ? 'operator.linked' : 'token.made'
  const about = { kind: 'operator', id: operatorId ?? 'first' }
  await recordDeeds(tx, doer, [{ deed, about, before: null, after: { tokenId: given.id } }])
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
  /** Null: the first admin, who is yet to be. */
  readonly operator: { readonly id: string; readonly name: string; readonly role: Role } | null
}

type HeldRow = {
  id: string
  kind: TokenKind
  made_by: string
  is_good: boolean
  operator_id: string | null
  name: string | null
  role: Role | null
}

const HELD = `
  select t.id, t.kind, t.made_by, t.operator_id, o.name, o.role,
         t.expires_at > $2 and (t.kind = 'personal' or t.used_at is null)
           and (o.state is null or o.state = 'active') as is_good
  from operator_tokens t
  left join operators o on o.id = t.operator_id
  where t.digest = $1`

const FIND = statement<HeldRow>(HELD)
const LOCK = statement<HeldRow>(`${HELD} for update of t`)

export async function findToken(queryable: Queryable, digest: string, now: number): Promise<HeldToken | null> {
  return fromHeld((await queryable.query(FIND, [digest, new Date(now)])).rows)
}

/** Whoever comes with the same one waits, and finds it used. */
export async function lockToken(tx: Transaction, digest: string, now: number): Promise<HeldToken | null> {
  return fromHeld((await tx.query(LOCK, [digest, new Date(now)])).rows)
}

function fromHeld([row]: readonly HeldRow[]): HeldToken | null {
  if (!row) return null
  const { id, kind, made_by, is_good, operator_id, name, role } = row
  const operator = operator_id === null ? null : { id: operator_id, name: name!, role: role! }
  return { id, kind, madeBy: made_by, isGood: is_good, operator }
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
