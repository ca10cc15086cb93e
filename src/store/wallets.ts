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

// What left a wallet since the last look counts as used; what came in does not. The rows are locked before they are compared: of two replicas
// that saw the same amount go, one finds it gone already.
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
    select s.*, b.amount as had
    from seen s
    left join before b on b.chain_id = s."chainId" and b.address = s.address and b.unit = s.unit and b.role = s.role
    where b.amount is null
       or (b.read_at < $2 and (b.amount <> s.amount or b.is_low <> s."isLow" or b.rights <> s.rights
         or b.read_at < $2::timestamptz - interval '${FRESH_SECONDS} seconds'))
  ), spent as (
    insert into wallet_use (chain_id, address, unit, at, used)
    select distinct on ("chainId", address, unit) "chainId", address, unit, date_trunc('hour', $2::timestamptz, 'UTC'), had - amount
    from news
    where had > amount
    order by "chainId", address, unit
    on conflict (chain_id, address, unit, at) do update
    set used = wallet_use.used + excluded.used
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
  /** What leaves it on a day, by the last seven or as many as it is known; null: too short to say. */
  readonly perDay: bigint | null
}

const USE_DAYS = 7

const READ = statement<{
  chain_id: string
  address: string
  unit: 'wei' | 'token'
  role: string
  amount: string
  is_low: boolean
  rights: readonly Right[]
  read_at: Date
  known_days: number
  used: string
}>(`
  select w.chain_id, w.address, w.unit, w.role, w.amount, w.is_low, w.rights, w.read_at,
         (extract(epoch from $1::timestamptz - w.since) / 86400)::float8 as known_days,
         coalesce((
           select sum(u.used)
           from wallet_use u
           where u.chain_id = w.chain_id
             and u.address = w.address
             and u.unit = w.unit
             and u.at > $1::timestamptz - interval '${USE_DAYS} days'), 0) as used
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
    perDay: perDayOf(BigInt(row.used), row.known_days),
  }))
}

function perDayOf(used: bigint, knownDays: number): bigint | null {
  if (used === 0n) return knownDays >= 1 ? 0n : null
  // What was used within the first hours is taken for a day of it: better too early an alarm than none.
  const days = Math.min(USE_DAYS, Math.max(1, knownDays))
  return (used * 1000n) / BigInt(Math.round(days * 1000))
}
