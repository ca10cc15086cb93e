import type { OrderStatus } from '../../domain/order.ts'
import type { Database, Queryable, Transaction } from '../db.ts'
import { NOT_REFUSED } from '../refusals.ts'
import { statement } from '../statement.ts'

const CLAIMANT = statement<{
  order_id: string | null
  transfer_id: string | null
  status: OrderStatus | null
  has_other: boolean
}>(`
  select i.order_id, i.transfer_id, o.status,
         exists (select from transfers m where m.order_id = i.order_id and m.state = 'matched') as has_other
  from payment_identities i
  left join orders o on o.id = i.order_id
  where i.identity = $1`)

export type Claimant =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'transfer'; readonly transferId: string }
  /** `isPaid`: another transfer is known to have paid it. */
  | { readonly kind: 'order'; readonly orderId: string; readonly status: OrderStatus; readonly isPaid: boolean }

/** The order or transfer that has claimed this name of a payment; `nothing` for a payment without a name. */
export async function claimantOf(queryable: Queryable, identity: string | null): Promise<Claimant> {
  const [row] = (await queryable.query(CLAIMANT, [identity])).rows
  if (row?.transfer_id != null) return { kind: 'transfer', transferId: row.transfer_id }
  // An order that was never paid may have been deleted: a payment that comes under its name now is unclaimed.
  if (row?.order_id == null) return { kind: 'nothing' }
  return { kind: 'order', orderId: row.order_id, status: row.status!, isPaid: row.has_other }
}

const claimFor = (owner: 'transfer_id' | 'order_id') =>
  statement<{ identity: string }>(`
  insert into payment_identities (identity, handle, ${owner})
  values ($1, regexp_replace($1, '^.*/', ''), $2)
  on conflict (identity) do update
  set ${owner} = excluded.${owner},
      ${NOT_REFUSED}
  where payment_identities.order_id is null
    and payment_identities.transfer_id is null
  returning identity`)

const CLAIM = { transfer: claimFor('transfer_id'), order: claimFor('order_id') }

/** An order or transfer has it already: the change is rolled back. */
class AlreadyClaimed extends Error {}

/** Claims the name of a payment for an order or transfer, if it is free. Only inside `unlessClaimed`. */
export async function claimName(
  tx: Transaction,
  identity: string,
  owner: { readonly kind: 'transfer' | 'order'; readonly id: string },
): Promise<void> {
  if ((await tx.query(CLAIM[owner.kind], [identity, owner.id])).rows.length === 0) throw new AlreadyClaimed()
}

/** The whole change; or nothing, and null, when a name that it claims was claimed a moment ago: then the payer presented the payment after all. */
export function unlessClaimed<Changed>(
  db: Database,
  change: (tx: Transaction) => Promise<Changed>,
): Promise<Changed | null> {
  return db.transaction(change).catch((error: unknown) => {
    if (error instanceof AlreadyClaimed) return null
    throw error
  })
}

const REFUND_NAMED = statement(`
  select
  from refunds
  where name = $1`)

/** Has a payment of this name gone back, or is it on its way? */
export async function isRefundName(queryable: Queryable, name: string): Promise<boolean> {
  return (await queryable.query(REFUND_NAMED, [name])).rows.length > 0
}
