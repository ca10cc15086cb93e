import { type JsonObject, stringify } from '../../base/json.ts'
import type { Hold } from '../../domain/good.ts'
import type { Failure, LeasedOrder, Order } from '../../domain/order.ts'
import type { Database, Queryable, Transaction } from '../db.ts'
import { statement } from '../statement.ts'
import { GAS_USED_UP, type GasLimit, isGasLeft, takeTurn } from './exposure.ts'
import { HELD } from './held.ts'
import { recordHolds, takeHolds } from './holds.ts'

const SET_PLAN = statement<{ id: string }>(`
  with held as (${HELD}
  )
  update orders
  set plan = $4,
      gas_at_risk = $5,
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
        gas_at_risk = 0,
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
  /** `isStale`: a limit was read before another order's hold ended, and may be otherwise by now. */
  | { readonly kind: 'refused'; readonly refusal: Pick<Failure, 'code' | 'detail'>; readonly isStale: boolean }

/** What `check` found. `gas`: what the delivery may burn for code of strangers; absent where it is done already. */
export type Planned = { readonly plan: JsonObject; readonly holds: readonly Hold[]; readonly gas?: GasLimit }

/** A captured payment is recorded before `check` is asked whether it can be delivered; this adds what `check` found. */
export async function setPlan(db: Database, { order, lease }: LeasedOrder, planned: Planned): Promise<PlanOutcome> {
  const { plan, holds, gas } = planned
  return db
    .transaction(async (tx): Promise<PlanOutcome> => {
      await assertGasLeft(tx, order, gas)
      const refused = holds.length === 0 ? null : await takeHolds(tx, holds)
      if (refused) throw new PlanRefused({ kind: 'refused', refusal: refused.hold.refusal, isStale: refused.isStale })
      if (holds.length > 0) await recordHolds(tx, order.id, holds)
      const gasAtRisk = gas?.gasAtRisk ?? 0n
      const values = [lease.kind, lease.key, lease.lease, stringify(plan), gasAtRisk.toString()]
      const { rows } = await tx.query(SET_PLAN, values)
      if (rows.length === 0) throw new PlanRefused({ kind: 'lost' })
      return { kind: 'set', order: { ...order, plan } }
    })
    .catch((error) => {
      if (error instanceof PlanRefused) return error.outcome
      throw error
    })
}

/** The same bound as for an order that is opened: what came without being asked burns no more. */
async function assertGasLeft(tx: Transaction, order: Order, gas: GasLimit | undefined): Promise<void> {
  if (gas === undefined || gas.gasAtRisk === 0n) return
  await takeTurn(tx, order)
  if (await isGasLeft(tx, order.payer, gas)) return
  throw new PlanRefused({ kind: 'refused', refusal: { code: 'payer_throttled', detail: GAS_USED_UP }, isStale: false })
}

/** Rolls the transaction back, and the holds with it. */
class PlanRefused extends Error {
  readonly outcome: PlanOutcome
  constructor(outcome: PlanOutcome) {
    super(outcome.kind)
    this.outcome = outcome
  }
}
