import type { LeasedOrder, Order } from '../../domain/order.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'
import { HELD } from './held.ts'
import { triedWords, triesWith } from './tries.ts'

const MARK_IN_DOUBT = statement<{ id: string }>(`
  with held as (${HELD}
  )
  update orders
  set in_doubt = true,
      tries = ${triesWith('$4')},
      updated_at = now()
  from held
  where id = held.key
    and status = 'settling'
  returning id`)

/** Marks an order whose settlement is not known, with the error, where that is new. */
export async function markInDoubt(
  queryable: Queryable,
  { order, lease }: LeasedOrder,
  error: string,
): Promise<Order | null> {
  const { rows } = await queryable.query(MARK_IN_DOUBT, [lease.kind, lease.key, lease.lease, triedWords(error)])
  return rows.length === 1 ? { ...order, inDoubt: true } : null
}

const COUNT_ATTEMPT = statement<{ attempts: number; refund_held: boolean }>(`
  with held as (${HELD}
  )
  update orders
  set attempts = attempts + $6,
      refund_held = refund_held or $7,
      tries = ${triesWith('$5')},
      updated_at = now()
  from held
  where id = held.key
    and status = $4
  returning attempts, refund_held`)

/** Counts a try, and writes down in the same statement what came of it. */
export function countAttempt(queryable: Queryable, leased: LeasedOrder, error: string): Promise<Order | null> {
  return note(queryable, leased, { error, counted: 1 })
}

/** A person has to say that it goes back. Until then what it owes counts against no sale. */
export function holdRefund(queryable: Queryable, leased: LeasedOrder, why: string): Promise<Order | null> {
  return note(queryable, leased, { error: why, counted: 0, holds: true })
}

/** The same for a try that did not get as far as what it was to try. */
export function noteTry(queryable: Queryable, leased: LeasedOrder, error: string): Promise<Order | null> {
  return note(queryable, leased, { error, counted: 0 })
}

async function note(
  queryable: Queryable,
  { order, lease }: LeasedOrder,
  { error, counted, holds = false }: { readonly error: string; readonly counted: number; readonly holds?: boolean },
): Promise<Order | null> {
  const values = [lease.kind, lease.key, lease.lease, order.status, triedWords(error), counted, holds]
  const { rows } = await queryable.query(COUNT_ATTEMPT, values)
  return rows[0] ? { ...order, attempts: rows[0].attempts, refundHeld: rows[0].refund_held } : null
}
