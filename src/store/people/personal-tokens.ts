import type { Database, Queryable, Transaction } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'
import { type GivenToken, issueToken } from './tokens.ts'

/** So many that work may one person have. */
const TOKENS_MAX = 50

const COUNT = statement<{ tokens: number }>(`
  select count(*)::int as tokens
  from operator_tokens
  where operator_id = $1
    and kind = 'personal'
    and expires_at > $2`)

type Wish = { readonly operatorId: string; readonly name: string; readonly days: number }

/** For the command line. Null when there are too many already. */
export async function makePersonalToken(tx: Transaction, doer: Doer, wish: Wish): Promise<GivenToken | null> {
  const { rows } = await tx.query(COUNT, [wish.operatorId, new Date(doer.at)])
  return rows[0]!.tokens < TOKENS_MAX ? issueToken(tx, doer, { kind: 'personal', ...wish }) : null
}

/** A token without what it is: nobody can read that again. */
export type ListedToken = {
  readonly id: string
  readonly name: string
  readonly operatorId: string
  readonly operatorName: string
  readonly madeAt: number
  readonly usedAt: number | null
  readonly expiresAt: number
}

const LIST = statement<{
  id: string
  name: string
  operator_id: string
  operator_name: string
  made_at: Date
  used_at: Date | null
  expires_at: Date
}>(`
  select t.id, t.name, t.operator_id, o.name as operator_name, t.made_at, t.used_at, t.expires_at
  from operator_tokens t
  join operators o on o.id = t.operator_id
  where t.kind = 'personal'
    and t.expires_at > $1
    and o.state = 'active'
    and ($2::text is null or t.operator_id = $2)
  order by t.made_at desc, t.id
  limit 1000`)

/** Those that work, the newest first. `owner`: only theirs; null: everybody's. */
export async function listPersonalTokens(
  queryable: Queryable,
  now: number,
  owner: string | null,
): Promise<readonly ListedToken[]> {
  const { rows } = await queryable.query(LIST, [new Date(now), owner])
  return rows.map(({ operator_id, operator_name, made_at, used_at, expires_at, ...row }) => ({
    ...row,
    operatorId: operator_id,
    operatorName: operator_name,
    madeAt: made_at.getTime(),
    usedAt: used_at?.getTime() ?? null,
    expiresAt: expires_at.getTime(),
  }))
}

const TOUCH = statement(`
  update operator_tokens
  set used_at = greatest(used_at, $2)
  where id = $1`)

export async function touchToken(queryable: Queryable, id: string, now: number): Promise<void> {
  await queryable.query(TOUCH, [id, new Date(now)])
}

const REVOKE = statement<{ operator_id: string; name: string }>(`
  update operator_tokens
  set expires_at = $2
  where id = $1
    and kind = 'personal'
    and expires_at > $2
    and ($3::text is null or operator_id = $3)
  returning operator_id, name`)

const END_SESSIONS = statement<{ id: string }>(`
  update operator_sessions
  set ended_at = $2
  where token_id = $1
    and ended_at is null
  returning id`)

/** With whatever it has let in. `owner`: only if it is theirs; null: whosever it is. False when there is none that works. */
export function revokePersonalToken(db: Database, doer: Doer, id: string, owner: string | null): Promise<boolean> {
  return db.transaction(async (tx) => {
    const at = new Date(doer.at)
    const [row] = (await tx.query(REVOKE, [id, at, owner])).rows
    if (!row) return false
    const { rows: ended } = await tx.query(END_SESSIONS, [id, at])
    const before = { operatorId: row.operator_id, name: row.name }
    const after = { sessionsEnded: ended.length }
    await recordDeeds(tx, doer, [{ deed: 'token.revoked', about: { kind: 'token', id }, before, after }])
    return true
  })
}
