import { type JsonObject, stringify } from '../../base/json.ts'
import type { Hold } from '../../domain/good.ts'
import type { LeasedOrder, Order } from '../../domain/order.ts'
import type { Database, Queryable } from '../db.ts'
import { statement } from '../statement.ts'
import { HELD } from './held.ts'
import { type HoldRefusal, recordHolds, takeHolds } from './holds.ts'

const SET_PLAN = statement<{ id: string }>(`
  with held as (${HELD}
  )
  update orders
  set plan = $4,
      updated_at = now()
  from held
  where id = held.key
    and status = 'settled'
    and plan is null
  returning id`)

const LET_GO = statement<{ id: string }>(`
  with held as (${HELD}
  ), unplanned as (
    update orders
    set plan = null,
        updated_at = now()
    from held
    where id = held.key
      and status = 'settling'
      and plan is not null
    returning id
  ), released as (
    delete from holds h
    using unplanned
    where h.order_id = unplanned.id
    returning h.resource, h.quantity
  ), totals as (
    update hold_totals t
    set held = t.held - r.quantity,
        version = t.version + r.quantity
    from released r
    where t.resource = r.resource
  )
  select id
  from unplanned`)

/**
 * A payment that does not land keeps no goods from other buyers: its holds are given back. If it lands after all, the order is
 * planned again like one with captured money. Null when the lease is lost.
 */
export async function letGo(queryable: Queryable, { order, lease }: LeasedOrder): Promise<Order | null> {
  const { rows } = await queryable.query(LET_GO, [lease.kind, lease.key, lease.lease])
  return rows.length === 1 ? { ...order, plan: null } : null
}

export type PlanOutcome =
  | { readonly kind: 'set'; readonly order: Order }
  | { readonly kind: 'lost' }
  | ({ readonly kind: 'held' } & HoldRefusal)

/** A captured payment is recorded before `check` is asked whether it can be delivered; this adds what `check` found. */
export async function setPlan(
  db: Database,
  { order, lease }: LeasedOrder,
  { plan, holds }: { readonly plan: JsonObject; readonly holds: readonly Hold[] },
): Promise<PlanOutcome> {
  const outcome = await db
    .transaction(async (tx): Promise<PlanOutcome> => {
      const refusal = holds.length === 0 ? null : await takeHolds(tx, holds)
      if (refusal) throw new PlanRefused({ kind: 'held', ...refusal })
      if (holds.length > 0) await recordHolds(tx, order.id, holds)
      const { rows } = await tx.query(SET_PLAN, [lease.kind, lease.key, lease.lease, stringify(plan)])
      if (rows.length === 0) throw new PlanRefused({ kind: 'lost' })
      return { kind: 'set', order: { ...order, plan } }
    })
    .catch((error) => {
      if (error instanceof PlanRefused) return error.outcome
      throw error
    })
  return outcome
}

/** Rolls the transaction back, and the holds with it. */
class PlanRefused extends Error {
  readonly outcome: PlanOutcome
  constructor(outcome: PlanOutcome) {
    super(outcome.kind)
    this.outcome = outcome
  }
}
