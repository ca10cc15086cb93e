import { AUTOMATIC } from '../domain/order.ts'
import type { Queryable, Transaction } from './db.ts'
import { refundsToday } from './orders/exposure.ts'
import { statement } from './statement.ts'

/** The bounds of automatic refunds. Null: no bound of this kind. */
export type RefundBudget = {
  readonly perDay: bigint
  readonly perPayer: { readonly payer: string; readonly count: number } | null
}

/** A transaction that begins such a refund waits for any other that does: none of them reads a sum that leaves the others out. */
const TURN = statement(`
  select pg_advisory_xact_lock(hashtext('automatic refunds'))`)

const TODAY = statement<{ amount: string }>(`
  select (
           select coalesce(sum(amount), 0)
           from refunds
           where requested_by = '${AUTOMATIC}'
             and created_at > now() - interval '1 day'
         ) + (
           select coalesce(sum(amount), 0)
           from arrivals
           where state in ('refunding', 'refunded')
             and decided_by = '${AUTOMATIC}'
             and updated_at > now() - interval '1 day'
         ) as amount`)

const TO_PAYER = statement<{ refunds: number }>(`
  select ${refundsToday('$1')} as refunds`)

/** The budget of automatic refunds is used up, and an operator decides. Rolls back the refund that was to begin. */
export class RefundsUsedUp extends Error {}

/** The automatic refunds of a day, those of orphaned payments included. */
export async function refundedToday(queryable: Queryable): Promise<bigint> {
  return BigInt((await queryable.query(TODAY)).rows[0]!.amount)
}

/** In the transaction that begins a refund: throws RefundsUsedUp when it would go beyond a bound. */
export async function assertWithin(tx: Transaction, amount: bigint, { perDay, perPayer }: RefundBudget): Promise<void> {
  await tx.query(TURN)
  if (perPayer && (await tx.query(TO_PAYER, [perPayer.payer])).rows[0]!.refunds >= perPayer.count)
    throw new RefundsUsedUp('Its payer was refunded too often today; an operator can refund it.')
  if ((await refundedToday(tx)) + amount > perDay)
    throw new RefundsUsedUp('The automatic refunds of this day are used up; an operator can refund it.')
}
