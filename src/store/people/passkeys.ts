import { newId } from '../../base/id.ts'
import { tokenDigest } from '../../base/token.ts'
import type { Role } from '../../domain/operator.ts'
import type { Database, Queryable, Transaction } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'

const CHALLENGE_MS = 2 * 60_000
const PASSKEYS_MAX = 10

const ASK = statement(`
  insert into passkey_challenges (digest, operator_id, expires_at)
  values ($1, $2, $3)`)

const FORGET = statement(`
  delete from passkey_challenges
  where digest in (
    select digest
    from passkey_challenges
    where expires_at < $1
    for update skip locked)`)

/** `operatorId`: who wants a new passkey; null: somebody who wants in. */
export async function askChallenge(
  queryable: Queryable,
  {
    challenge,
    operatorId,
    now,
  }: { readonly challenge: string; readonly operatorId: string | null; readonly now: number },
): Promise<void> {
  await queryable.query(FORGET, [new Date(now)])
  await queryable.query(ASK, [tokenDigest(challenge), operatorId, new Date(now + CHALLENGE_MS)])
}

const TAKE = statement<{ operator_id: string | null }>(`
  delete from passkey_challenges
  where digest = $1
    and expires_at > $2
  returning operator_id`)

/** Once: whatever comes of it, it is gone. Undefined when there is none. */
export async function takeChallenge(
  tx: Transaction,
  challenge: string,
  now: number,
): Promise<string | null | undefined> {
  return (await tx.query(TAKE, [tokenDigest(challenge), new Date(now)])).rows[0]?.operator_id
}

export type ListedPasskey = {
  readonly id: string
  readonly name: string
  readonly credential: string
  readonly madeAt: number
  readonly usedAt: number | null
}

const LIST = statement<{ id: string; name: string; credential: string; made_at: Date; used_at: Date | null }>(`
  select id, name, credential, made_at, used_at
  from passkeys
  where operator_id = $1
  order by made_at, id
  limit 100`)

export async function listPasskeys(queryable: Queryable, operatorId: string): Promise<readonly ListedPasskey[]> {
  const { rows } = await queryable.query(LIST, [operatorId])
  return rows.map(({ made_at, used_at, ...row }) => ({
    ...row,
    madeAt: made_at.getTime(),
    usedAt: used_at?.getTime() ?? null,
  }))
}

const INSERT = statement<{ id: string }>(`
  insert into passkeys (id, credential, operator_id, name, public_key, counter, made_at)
  select $1, $2, $3, $4, $5, $6, $7
  where (select count(*) from passkeys where operator_id = $3) < ${PASSKEYS_MAX}
  on conflict (credential) do nothing
  returning id`)

type StoredPasskey = {
  readonly credential: string
  readonly publicKey: string
  readonly counter: number
  readonly name: string
}

/** Null when it is known already, or there are too many. */
export async function addPasskey(tx: Transaction, doer: Doer, passkey: StoredPasskey): Promise<string | null> {
  const { credential, publicKey, counter, name } = passkey
  const values = [newId('psk', doer.random), credential, doer.who.id, name, publicKey, counter, new Date(doer.at)]
  const { rows } = await tx.query(INSERT, values)
  const id = rows[0]?.id ?? null
  if (id !== null)
    await recordDeeds(tx, doer, [
      { deed: 'passkey.added', about: { kind: 'passkey', id }, before: null, after: { name } },
    ])
  return id
}

type KnownPasskey = {
  readonly id: string
  readonly credential: string
  readonly publicKey: string
  readonly counter: number
  readonly operator: { readonly id: string; readonly name: string; readonly role: Role }
}

const LOCK = statement<{
  id: string
  public_key: string
  counter: string
  operator_id: string
  name: string
  role: Role
}>(`
  select p.id, p.public_key, p.counter, o.id as operator_id, o.name, o.role
  from passkeys p
  join operators o on o.id = p.operator_id
  where p.credential = $1
    and o.state = 'active'
  for update of p`)

export async function lockPasskey(tx: Transaction, credential: string): Promise<KnownPasskey | null> {
  const { rows } = await tx.query(LOCK, [credential])
  const [row] = rows
  if (!row) return null
  const { id, public_key, counter, operator_id, name, role } = row
  const operator = { id: operator_id, name, role }
  return { id, credential, publicKey: public_key, counter: Number(counter), operator }
}

const USE = statement(`
  update passkeys
  set counter = $2,
      used_at = $3
  where id = $1`)

export async function usePasskey(tx: Transaction, id: string, counter: number, at: number): Promise<void> {
  await tx.query(USE, [id, counter, new Date(at)])
}

const REMOVE = statement<{ operator_id: string; name: string }>(`
  delete from passkeys
  where id = $1
    and ($2::text is null or operator_id = $2)
  returning operator_id, name`)

/** `owner`: only if it is theirs; null: whosever it is. */
export function removePasskey(db: Database, doer: Doer, id: string, owner: string | null): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query(REMOVE, [id, owner])
    const [row] = rows
    if (!row) return false
    const before = { operatorId: row.operator_id, name: row.name }
    await recordDeeds(tx, doer, [{ deed: 'passkey.removed', about: { kind: 'passkey', id }, before, after: null }])
    return true
  })
}
