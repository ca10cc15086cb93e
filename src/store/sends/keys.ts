import type { Address } from '../../base/address.ts'
import type { KeyCount, KnownKey, RoleKey } from '../../domain/journal.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'

const RECORD = statement(`
  insert into signing_keys (chain_id, role, signer)
  select distinct *
  from unnest($1::bigint[], $2::text[], $3::text[])
  on conflict (chain_id, role, signer) do update
  set last_used = now()`)

const IN_ROLE = statement<{ signer: Address }>(`
  select signer
  from signing_keys
  where chain_id = $1
    and role = $2
  order by last_used desc
  limit 100`)

const KNOWN = statement<{ chain_id: string; signer: Address; known: string | null }>(`
  select k.chain_id, k.signer,
         case when bool_or(k.counted is not null) then greatest(
           max(k.counted),
           (select max(s.nonce) + 1 from sends s where s.chain_id = k.chain_id and s.signer = k.signer and s.nonce_key = ''))
         end as known
  from signing_keys k
  group by k.chain_id, k.signer
  order by max(k.last_used) desc
  limit 1000`)

const NOTE = statement(`
  update signing_keys k
  set counted = greatest(k.counted, c.counted)
  from unnest($1::bigint[], $2::text[], $3::bigint[]) as c (chain_id, signer, counted)
  where k.chain_id = c.chain_id
    and k.signer = c.signer`)

/** Written at each start, before a key signs anything: from then on it is known to be ours, also after it was replaced. */
export async function recordKeys(queryable: Queryable, keys: readonly RoleKey[]): Promise<void> {
  await queryable.query(RECORD, [
    keys.map(({ chainId }) => chainId),
    keys.map(({ role }) => role),
    keys.map(({ signer }) => signer),
  ])
}

/** Every key that the shop ever had in a role on a chain, the newest first. */
export async function keysInRole(queryable: Queryable, chainId: number, role: string): Promise<readonly Address[]> {
  const { rows } = await queryable.query(IN_ROLE, [chainId, role])
  return rows.map(({ signer }) => signer)
}

/** Every key that the shop ever had, and how many transactions of it are accounted for. */
export async function knownKeys(queryable: Queryable): Promise<readonly KnownKey[]> {
  const { rows } = await queryable.query(KNOWN)
  return rows.map(({ chain_id, signer, known }) => ({
    chainId: Number(chain_id),
    signer,
    known: known === null ? null : Number(known),
  }))
}

/** What they have sent is accounted for, whether the journal knows it or not. */
export async function noteCounts(queryable: Queryable, counts: readonly KeyCount[]): Promise<void> {
  await queryable.query(NOTE, [
    counts.map(({ chainId }) => chainId),
    counts.map(({ signer }) => signer),
    counts.map(({ counted }) => counted),
  ])
}
