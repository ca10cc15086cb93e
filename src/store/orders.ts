import type { JsonObject } from '../base/json.ts'
import type { EventType } from '../domain/event.ts'
import type { Hold } from '../domain/good.ts'
import type { Order, Refund } from '../domain/order.ts'
import { isPrivateIdentity } from '../domain/rail.ts'
import type { Arrival } from '../domain/till.ts'
import { strayArrival } from './arrival-list.ts'
import type { Database } from './db.ts'
import type { Lease } from './jobs.ts'
import {
  type Change,
  changeOrder,
  changeRefund,
  countAttempt,
  letGo,
  markInDoubt,
  noteTry,
  type PlanOutcome,
  setPlan,
} from './order-change.ts'
import { findByIdentities, type Opening, type OpenOutcome, openOrder } from './order-opening.ts'
import { fromOrderRow, ORDER_COLUMNS, type OrderRow } from './order-row.ts'
import { type RefundBudget, refundedToday } from './refund-budget.ts'
import { statement } from './statement.ts'

type OrderEvent = { readonly type: EventType; readonly data: JsonObject }

/** The book of purchases. Every method that changes an order demands its lease. */
export type Orders = {
  open(opening: Opening): Promise<OpenOutcome>
  byId(id: string): Promise<Order | null>
  byIdentities(identities: readonly string[]): Promise<Order | null>
  /** Anything a payer may hold: order id, payment transaction, authorization nonce, challenge id, idempotency key. */
  byReference(reference: string): Promise<readonly FoundOrder[]>
  /** Money that reached us, by whatever names it, and that no order has. */
  stray(reference: string): Promise<Arrival | null>
  change(lease: Lease, order: Order, change: Change, event: OrderEvent): Promise<Order | null>
  changeRefund(
    lease: Lease,
    order: Order,
    change: Change & { readonly refund: Refund },
    event: OrderEvent,
    /** For a refund that nobody decided; throws RefundsUsedUp when it would go beyond. */
    budget?: RefundBudget,
  ): Promise<Order | null>
  /** What went back to payers within a day without anybody having decided it, orphans included. */
  refundedToday(): Promise<bigint>
  markInDoubt(lease: Lease, order: Order, error?: string): Promise<Order | null>
  countAttempt(lease: Lease, order: Order, error: string): Promise<Order | null>
  /** What was tried and came to nothing, without counting it. */
  noteTry(lease: Lease, order: Order, error: string): Promise<Order | null>
  /** Gives back what was set aside for a payment that does not land. */
  letGo(lease: Lease, order: Order): Promise<Order | null>
  setPlan(lease: Lease, order: Order, plan: JsonObject, holds: readonly Hold[]): Promise<PlanOutcome>
}

/** `isOwn`: found by a name that only the buyer and we know. */
export type FoundOrder = { readonly order: Order; readonly isOwn: boolean }

const BY_ID = statement<OrderRow>(`
  select ${ORDER_COLUMNS}
  from orders o
  left join refunds r on r.order_id = o.id
  where o.id = $1`)

const BY_REFERENCE = statement<OrderRow & { identities: readonly (string | null)[] }>(`
  with named as (
    select id, null as identity from orders where id = $1
    union all
    select order_id, identity from payment_identities where handle in ($1, lower($1)) and order_id is not null
    union all
    select id, null from orders where payment_tx = lower($1)
    union all
    select id, null from orders where idempotency_key = $1
  ), found as (
    select id, array_agg(identity) as identities from named group by id
  )
  select ${ORDER_COLUMNS}, f.identities
  from found f
  join orders o on o.id = f.id
  left join refunds r on r.order_id = o.id
  order by o.created_at desc
  limit 10`)

export function createOrders(db: Database): Orders {
  return {
    open: (opening) => openOrder(db, opening),
    async byId(id) {
      const { rows } = await db.query(BY_ID, [id])
      return rows[0] ? fromOrderRow(rows[0]) : null
    },
    byIdentities: (identities) => findByIdentities(db, identities),
    async byReference(reference) {
      const { rows } = await db.query(BY_REFERENCE, [reference])
      return rows.map(({ identities, ...row }) => ({
        order: fromOrderRow(row),
        isOwn: row.id === reference || identities.some((identity) => identity !== null && isPrivateIdentity(identity)),
      }))
    },
    stray: (reference) => strayArrival(db, reference),
    change: (lease, order, change, event) => changeOrder(db, lease, order, change, event),
    changeRefund: (lease, order, change, event, budget) => changeRefund(db, lease, order, change, event, budget),
    refundedToday: () => refundedToday(db),
    markInDoubt: (lease, order, error) => markInDoubt(db, lease, order, error),
    countAttempt: (lease, order, error) => countAttempt(db, lease, order, error),
    noteTry: (lease, order, error) => noteTry(db, lease, order, error),
    letGo: (lease, order) => letGo(db, lease, order),
    setPlan: (lease, order, plan, holds) => setPlan(db, lease, order, plan, holds),
  }
}
