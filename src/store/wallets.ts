import { stringify } from '../base/json.ts'
import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

/** What a key may do on its chain. */
type Right = { readonly name: string; readonly has: boolean }

/** What one of our wallets had when it could last be seen. */
type SeenWallet = {
  readonly role: string
  readonly chainId: number
  readonly address: string
  readonly unit: 'wei' | 'token'
  readonly amount: bigint
  readonly isLow: boolean
  readonly rights: readonly Right[]
}

/** A look that finds nothing new is written down this often. */
const FRESH_SECONDS = 60

// The rows are locked before they are compared: an older look does not overwrite a newer one.
const RECORD = statement(`
  with seen as (
    select s.*
    from jsonb_to_recordset($1::jsonb) as s (
      role text, "chainId" bigint, address text, unit text, amount numeric, "isLow" boolean, rights jsonb)
  ), before as (
    select w.chain_id, w.address, w.unit, w.role, w.amount, w.is_low, w.rights, w.read_at
    from wallets w
    join seen s on s."chainId" = w.chain_id and s.address = w.address and s.unit = w.unit and s.role = w.role
    order by w.chain_id, w.address, w.unit, w.role
    for update of w
  ), news as (
    select s.*
    from seen s
    left join before b on b.chain_id = s."chainId" and b.address = s.address and b.unit = s.unit and b.role = s.role
    where b.amount is null
       or (b.read_at < $2 and (b.amount <> s.amount or b.is_low <> s."isLow" or b.rights <> s.rights
         or b.read_at < $2::timestamptz - interval '${FRESH_SECONDS} seconds'))
  )
  insert into wallets (chain_id, address, unit, role, amount, is_low, rights, since, read_at)
  select "chainId", address, unit, role, amount, "isLow", rights, $2, $2
  from news
  order by "chainId", address, unit, role
  on conflict (chain_id, address, unit, role) do update
  set amount = excluded.amount,
      is_low = excluded.is_low,
      rights = excluded.rights,
      read_at = excluded.read_at`)

export async function recordWallets(queryable: Queryable, wallets: readonly SeenWallet[], at: number): Promise<void> {
  if (wallets.length === 0) return
  const rows = wallets.map(({ amount, ...wallet }) => ({ ...wallet, amount: amount.toString() }))
  await queryable.query(RECORD, [stringify(rows), new Date(at)])
}

export type KeptWallet = SeenWallet & {
  readonly readAt: number
}

const READ = statement<{
  chain_id: string
  address: string
  unit: 'wei' | 'token'
  role: string
  amount: string
  is_low: boolean
  rights: readonly Right[]
  read_at: Date
}>(`
  select w.chain_id, w.address, w.unit, w.role, w.amount, w.is_low, w.rights, w.read_at
  from wallets w
  where w.read_at > $1::timestamptz - interval '30 days'
  order by w.role, w.chain_id, w.unit, w.address`)

/** All that were seen within a month, whoever can see them now. */
export async function readKeptWallets(queryable: Queryable, now: number): Promise<readonly KeptWallet[]> {
  const { rows } = await queryable.query(READ, [new Date(now)])
  return rows.map((row) => ({
    role: row.role,
    chainId: Number(row.chain_id),
    address: row.address,
    unit: row.unit,
    amount: BigInt(row.amount),
    isLow: row.is_low,
    rights: row.rights,
    readAt: row.read_at.getTime(),
  }))
}
