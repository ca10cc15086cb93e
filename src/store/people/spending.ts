import type { Queryable, Transaction } from '../db.ts'
import { statement } from '../statement.ts'

const DAY_MS = 86_400_000

/** What somebody of support gives back at the same moment is counted one after the other. */
const TURN = statement(`
  select pg_advisory_xact_lock(hashtext('spending of ' || $1))`)

const SPENT = statement<{ amount: string }>(`
  select coalesce(sum(amount), 0) as amount
  from refund_spending
  where operator_id = $1
    and at > $2`)

const SPEND = statement(`
  insert into refund_spending (operator_id, about, amount, at)
  values ($1, $2, $3, $4)`)

const FORGET = statement(`
  delete from refund_spending
  where id in (
    select id
    from refund_spending
    where at < $1
    for update skip locked)`)

/** What an operator gave back within the last day. */
export async function spentToday(queryable: Queryable, operatorId: string, now: number): Promise<bigint> {
  return BigInt((await queryable.query(SPENT, [operatorId, new Date(now - DAY_MS)])).rows[0]!.amount)
}

type Spending = {
  readonly operatorId: string
  readonly about: string
  readonly amount: bigint
  readonly perDay: bigint
  readonly at: number
}

/** In the transaction that begins a refund. Null: it is counted; otherwise what is left of the day, and nothing may be given back. */
export async function spend(tx: Transaction, spending: Spending): Promise<bigint | null> {
  const { operatorId, about, amount, perDay, at } = spending
  await tx.query(TURN, [operatorId])
  const spent = await spentToday(tx, operatorId, at)
  if (spent + amount > perDay) return perDay > spent ? perDay - spent : 0n
  await tx.query(FORGET, [new Date(at - 2 * DAY_MS)])
  await tx.query(SPEND, [operatorId, about, amount.toString(), new Date(at)])
  return null
}
