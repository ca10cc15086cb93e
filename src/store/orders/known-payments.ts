import type { Order } from '../../domain/order.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'
import { fromOrderRow, ORDER_COLUMNS, type OrderRow } from './row.ts'

const BY_IDENTITIES = statement<OrderRow>(`
  select ${ORDER_COLUMNS}
  from payment_identities i
  join orders o on o.id = i.order_id
  left join refunds r on r.order_id = o.id
  where i.identity = any ($1::text[])
  limit 1`)

export async function findByIdentities(db: Queryable, identities: readonly string[]): Promise<Order | null> {
  return firstOrder(db, BY_IDENTITIES, [identities])
}

const HANDLE_KNOWN = statement(`
  select
  from payment_identities
  where handle = any ($1::text[])
    and (order_id is not null or transfer_id is not null)
  limit 1`)

/** Has anything come by a name that ends in one of these? */
export async function isAnyHandleKnown(db: Queryable, handles: readonly string[]): Promise<boolean> {
  return (await db.query(HANDLE_KNOWN, [handles])).rows.length > 0
}

const CHAIN_NAME = statement<{ identity: string | null }>(`
  select min(identity) as identity
  from payment_identities
  where (order_id = $1 or transfer_id = $1)
    and identity like '%:' || $2 || '/%'
    and identity not like '%/challenge/%'`)

/** The name that the chain knows the payment of an order by, or the money that came without one. */
export async function paymentName(
  db: Queryable,
  { id, network }: Pick<Order, 'id' | 'network'>,
): Promise<string | null> {
  return (await db.query(CHAIN_NAME, [id, network])).rows[0]!.identity
}

export async function firstOrder(
  db: Queryable,
  query: typeof BY_IDENTITIES,
  values: readonly unknown[],
): Promise<Order | null> {
  const { rows } = await db.query(query, values)
  return rows[0] ? fromOrderRow(rows[0]) : null
}
