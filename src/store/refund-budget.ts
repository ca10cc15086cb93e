import { AUTOMATIC } from '../domain/order.ts'
import type { Queryable, Transaction } from './db.ts'
import { refundsToday } from './orders/exposure.ts'
import { statement } from './statement.ts'

/** The bounds of automatic refunds. Null: no bound of this kind. */
export type RefundBudget = {
  readonly perDay: bigint
  readonly perPayer: { readonly payer: string; readonly count: number } | null
  /** Null: the shop has failed. Buyers can bring about the others at will, so those have bounds of their own and use up nothing of these. */
  readonly byBuyers: BuyersShare | null
}

/** On one rail: what the shop could send back now, and the percentage of it that may go to them within a day. */
type BuyersShare = {
  readonly network: string
  readonly asset: string
  /** Null: it goes back from where it came, nothing of the shop's is used up, and there is no bound. */
  readonly float: bigint | null
  readonly percent: number
}

/** A transaction that begins such a refund waits for any other that does: none of them reads a sum that leaves the others out. */
const TURN = statement(`
  select pg_advisory_xact_lock(hashtext('automatic refunds'))`)

const TODAY = statement<{ amount: string; landed: string }>(`
  select coalesce(sum(r.amount), 0) as amount, 0 as landed
  from refunds r
  join orders o on o.id = r.order_id
  where r.requested_by = '${AUTOMATIC}'
    and r.created_at > now() - interval '1 day'
    and o.failure -> 'byBuyer' is null`)

// Anybody can send money without a purchase.
const BY_BUYERS = statement<{ amount: string; landed: string }>(`
  select coalesce(sum(r.amount), 0) as amount,
         coalesce(sum(r.amount) filter (where r.completed_at is not null), 0) as landed
  from refunds r
  left join orders o on o.id = r.order_id
  left join transfers t on t.id = r.transfer_id
  where r.requested_by = '${AUTOMATIC}'
    and r.created_at > now() - interval '1 day'
    and (starts_with(t.account, lower($1 || '/' || $2 || '/'))
      or (o.failure -> 'byBuyer' is not null
        and o.network = $1
        and lower(o.asset) = lower($2)))`)

const TO_PAYER = statement<{ refunds: number }>(`
  select ${refundsToday('$1')} as refunds`)

/** The budget of automatic refunds is used up, and an operator decides. Rolls back the refund that was to begin. */
export class RefundsUsedUp extends Error {}

/** May so much more go back by itself today? */
async function hasRoom(queryable: Queryable, amount: bigint, budget: RefundBudget): Promise<boolean> {
  const { perDay, byBuyers } = budget
  // Its own payment covers it, so whatever strangers send uses up nothing that others wait for.
  if (byBuyers?.float === null) return true
  const { rows } = byBuyers
    ? await queryable.query(BY_BUYERS, [byBuyers.network, byBuyers.asset])
    : await queryable.query(TODAY)
  const wanted = BigInt(rows[0]!.amount) + amount
  if (wanted > perDay) return false
  // What has left the float today was in it when the day began.
  return !byBuyers || wanted * 100n <= (byBuyers.float + BigInt(rows[0]!.landed)) * BigInt(byBuyers.percent)
}

/** In the transaction that begins a refund: throws RefundsUsedUp when it would go beyond a bound. */
export async function assertWithin(tx: Transaction, amount: bigint, budget: RefundBudget): Promise<void> {
  const { perPayer, byBuyers } = budget
  await tx.query(TURN)
  if (perPayer && (await tx.query(TO_PAYER, [perPayer.payer])).rows[0]!.refunds >= perPayer.count)
    throw new RefundsUsedUp('Its payer was refunded too often today; an operator can refund it.')
  if (await hasRoom(tx, amount, budget)) return
  const which = byBuyers ? 'refunds that buyers brought about' : 'automatic refunds'
  throw new RefundsUsedUp(`The ${which} of this day are used up; an operator can refund it.`)
}
