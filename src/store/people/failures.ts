import type { Transaction } from '../db.ts'
import { statement } from '../statement.ts'

const WINDOW_MS = 15 * 60_000
const PER_ADDRESS = 5
const PER_OPERATOR = 20

/** Tries from one address stand in a row: however many come at once, none is made that the others were not counted for. */
const TURN = statement(`
  select pg_advisory_xact_lock(hashtext('sign-in ' || $1))`)

const COUNT = statement<{ failures: number; oldest: Date | null }>(`
  select count(*)::int as failures, min(at) as oldest
  from sign_in_failures
  where at > $2
    and (($1::text is not null and address = $1) or ($3::text is not null and operator_id = $3))`)

/** How long to wait, in seconds, after too many failures from an address; 0: go on. */
export async function waitOfAddress(tx: Transaction, address: string, now: number): Promise<number> {
  await tx.query(TURN, [address])
  return waitAfter(tx, [address, new Date(now - WINDOW_MS), null], { allowed: PER_ADDRESS, now })
}

/** The same after too many failures with what belongs to one operator, from wherever. */
export function waitOfOperator(tx: Transaction, operatorId: string, now: number): Promise<number> {
  return waitAfter(tx, [null, new Date(now - WINDOW_MS), operatorId], { allowed: PER_OPERATOR, now })
}

async function waitAfter(
  tx: Transaction,
  values: readonly unknown[],
  { allowed, now }: { readonly allowed: number; readonly now: number },
): Promise<number> {
  const { failures, oldest } = (await tx.query(COUNT, values)).rows[0]!
  return failures < allowed ? 0 : Math.max(1, Math.ceil(((oldest?.getTime() ?? now) + WINDOW_MS - now) / 1000))
}

const FAIL = statement(`
  insert into sign_in_failures (address, operator_id, at)
  values ($1, $2, $3)`)

const FORGET = statement(`
  delete from sign_in_failures
  where id in (
    select id
    from sign_in_failures
    where at < $1
    for update skip locked)`)

export async function countFailure(
  tx: Transaction,
  { address, operatorId, now }: { readonly address: string; readonly operatorId: string | null; readonly now: number },
): Promise<void> {
  await tx.query(FORGET, [new Date(now - WINDOW_MS)])
  await tx.query(FAIL, [address, operatorId, new Date(now)])
}
