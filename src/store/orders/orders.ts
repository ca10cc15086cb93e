import type { JsonObject } from '../../base/json.ts'
import type { Hold } from '../../domain/good.ts'
import type { LeasedOrder, Order, OrderStatus } from '../../domain/order.ts'
import { isPrivateIdentity } from '../../domain/rail.ts'
import type { Arrival } from '../../domain/till.ts'
import type { Database } from '../db.ts'
import { statement } from '../statement.ts'
import { strayArrival } from '../tills/arrivals.ts'
import {
  changeOrder,
  changeRefund,
  countAttempt,
  letGo,
  markInDoubt,
  type OrderChange,
  type OrderEvent,
  type PlanOutcome,
  type RefundChange,
  setPlan,
} from './change.ts'
import { findByIdentities, type Opening, type OpenOutcome, openOrder } from './opening.ts'
import { refundedToday } from './refund-budget.ts'
import { fromOrderRow, ORDER_COLUMNS, type OrderRow } from './row.ts'

/** The book of purchases. Every method that changes an order demands its lease. */
export type Orders = {
  open(opening: Opening): Promise<OpenOutcome>
  byId(id: string): Promise<Order | null>
  byIdentities(identities: readonly string[]): Promise<Order | null>
  /** Anything a payer may hold: order id, payment transaction, authorization nonce, challenge id, idempotency key. */
  byReference(reference: string): Promise<readonly FoundOrder[]>
  /** Money that reached us with this transaction, and that no order has. */
  stray(transaction: string): Promise<Arrival | null>
  list(filter: OrderFilter): Promise<readonly Order[]>
  change(leased: LeasedOrder, change: OrderChange, event: OrderEvent): Promise<Order | null>
  changeRefund(leased: LeasedOrder, change: RefundChange, event: OrderEvent): Promise<Order | null>
  /** What went back to payers within a day without anybody having decided it, orphans included. */
  refundedToday(): Promise<bigint>
  markInDoubt(leased: LeasedOrder): Promise<Order | null>
  countAttempt(leased: LeasedOrder): Promise<Order | null>
  /** Gives back what was set aside for a payment that does not land. */
  letGo(leased: LeasedOrder): Promise<Order | null>
  setPlan(
    leased: LeasedOrder,
    checked: { readonly plan: JsonObject; readonly holds: readonly Hold[] },
  ): Promise<PlanOutcome>
}

/** `isOwn`: found by a name that only the buyer and we know. */
export type FoundOrder = { readonly order: Order; readonly isOwn: boolean }

export type OrderFilter = {
  readonly statuses?: readonly OrderStatus[]
  readonly before?: number
  readonly limit: number
}

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

const LIST = statement<OrderRow>(`
  select ${ORDER_COLUMNS}
  from orders o
  left join refunds r on r.order_id = o.id
  where ($1::text[] is null or o.status = any ($1))
    and ($2::timestamptz is null or o.created_at < $2)
  order by o.created_at desc
  limit $3`)

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
    stray: (transaction) => strayArrival(db, transaction),
    async list({ statuses, before, limit }) {
      const { rows } = await db.query(LIST, [statuses ?? null, before === undefined ? null : new Date(before), limit])
      return rows.map(fromOrderRow)
    },
    change: (leased, change, event) => changeOrder(db, leased, change, event),
    changeRefund: (leased, change, event) => changeRefund(db, leased, change, event),
    refundedToday: () => refundedToday(db),
    markInDoubt: (leased) => markInDoubt(db, leased),
    countAttempt: (leased) => countAttempt(db, leased),
    letGo: (leased) => letGo(db, leased),
    setPlan: (leased, checked) => setPlan(db, leased, checked),
  }
}
