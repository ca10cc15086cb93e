import type { Address, Hash } from '../../base/address.ts'
import { type BookedTransfer, isOpen } from '../../domain/booked-transfer.ts'
import type { Database, Queryable } from '../db.ts'
import { plannedAnew, statement } from '../statement.ts'
import { accountIdOfRow } from './account-id.ts'
import { claimName, unlessClaimed } from './claims.ts'
import { fromTransferRow, OPEN_STATES, TRANSFER_COLUMNS, type TransferRow } from './transfers.ts'

/** Orders that count as paid at this account, of this payer and amount, and that no transfer was found for yet. */
const UNFOUND = (transfer: string) => `
        o.status not in ('settling', 'expired')
    and ${accountIdOfRow('o')} = ${transfer}.account
    and lower(o.payer) = lower(${transfer}.sender)
    and o.amount = ${transfer}.amount
    and not exists (select from transfers m where m.order_id = o.id and m.state = 'matched')`

/** Those of them that count as paid by this transfer or one that looks like it. */
const UNPAID = (transfer: string) => `
        o.payment_tx = ${transfer}.transaction
    and ${UNFOUND(transfer)}`

// Strangers decide how many transfers a transaction has and how many orders it pays; the statistics of the planner may be older than they. So simple
// statements read both, and they are put together here: as joins these took longer than a statement may.
const TRANSFERS = plannedAnew<TransferRow>(`
  select ${TRANSFER_COLUMNS}
  from transfers t
  left join refunds r on r.transfer_id = t.id
  where t.account = $1
    and t.transaction = any (array(
      select x.transaction
      from transfers x
      where x.account = $1
        and x.state in ${OPEN_STATES}
        and exists (select from orders o where o.payment_tx = x.transaction)))
  order by t.transaction, t.log_index`)

const ORDERS = plannedAnew<{ id: string; transaction: Hash; sender: Address; amount: string }>(`
  select o.id, o.payment_tx as transaction, o.payer as sender, o.amount
  from orders o
  where o.payment_tx = any ($2)
    and ${accountIdOfRow('o')} = $1
    and not exists (select from transfers m where m.order_id = o.id and m.state = 'matched')
  order by o.id`)

const MATCH = statement(`
  update transfers t
  set state = 'matched',
      order_id = m.order_id,
      reason = null,
      updated_at = now()
  from unnest($1::text[], $2::text[]) as m (id, order_id)
  where t.id = m.id
    and t.state in ${OPEN_STATES}
    and not exists (select from transfers other where other.order_id = m.order_id and other.state = 'matched')`)

/** Transfers of one transaction that payer and amount do not tell apart, and how many orders they have still to pay. */
export type Twins = { readonly transfers: readonly BookedTransfer[]; readonly orders: number }

/** Finds the order of every transfer that has none yet and is like no other of its transaction. Returned are those that only their names tell apart. */
export async function matchTransfers(queryable: Queryable, account: string): Promise<readonly Twins[]> {
  const transfers = (await queryable.query(TRANSFERS, [account])).rows.map(fromTransferRow)
  if (transfers.length === 0) return []
  const transactions = [...new Set(transfers.map(({ transaction }) => transaction))]
  const orders = Map.groupBy((await queryable.query(ORDERS, [account, transactions])).rows, lookOf)
  const alike = [...Map.groupBy(transfers, lookOf)]
    .map(([look, same]) => ({ same, open: same.filter(isOpen), orders: orders.get(look) ?? [] }))
    .filter(({ open, orders }) => open.length > 0 && orders.length > 0)
  const sure = alike.filter(({ same }) => same.length === 1)
  if (sure.length > 0)
    await queryable.query(MATCH, [sure.map(({ open }) => open[0]!.id), sure.map(({ orders }) => orders[0]!.id)])
  return alike
    .filter(({ same }) => same.length > 1)
    .map(({ open, orders }) => ({ transfers: open, orders: orders.length }))
}

/** Payer and amount tell the transfers of a transaction apart, mostly. */
function lookOf(one: {
  readonly transaction: Hash
  readonly sender: Address
  readonly amount: bigint | string
}): string {
  return `${one.transaction} ${one.sender.toLowerCase()} ${one.amount}`
}

// Two transactions may carry one payment, the shop's and a stranger's.
const MATCH_NAMED = statement<{ order_id: string }>(`
  with matched as (
    update transfers t
    set state = 'matched',
        order_id = o.id,
        reason = null,
        updated_at = now()
    from payment_identities i
    join orders o on o.id = i.order_id
    where i.identity = $2
      and t.id = $1
      and t.state in ${OPEN_STATES}
      and ${UNFOUND('t')}
    returning t.order_id, t.transaction
  ), moved as (
    update orders o
    set payment_tx = m.transaction
    from matched m
    where o.id = m.order_id
      and o.payment_tx <> m.transaction
  )
  select order_id
  from matched`)

/** By the name that an order has claimed, whichever transaction it counted on. False: that is no order that it could have paid. */
export async function matchNamed(
  queryable: Queryable,
  { id }: Pick<BookedTransfer, 'id'>,
  identity: string | null,
): Promise<boolean> {
  return identity !== null && (await queryable.query(MATCH_NAMED, [id, identity])).rows.length === 1
}

const MATCH_ANY = statement<{ order_id: string }>(`
  update transfers t
  set state = 'matched',
      order_id = (select min(o.id) from orders o where ${UNPAID('t')}),
      reason = null,
      updated_at = now()
  where t.id = $1
    and t.state in ${OPEN_STATES}
    and exists (select from orders o where ${UNPAID('t')})
  returning t.order_id`)

/** For an order whose payment landed under another name than it was known by: that name is claimed, so that it cannot buy once more. */
export async function matchUnnamed(
  db: Database,
  { id }: Pick<BookedTransfer, 'id'>,
  identity: string | null,
): Promise<void> {
  await unlessClaimed(db, async (tx) => {
    const [matched] = (await tx.query(MATCH_ANY, [id])).rows
    if (matched && identity !== null) await claimName(tx, identity, { kind: 'order', id: matched.order_id })
  })
}

const LIKE = statement<TransferRow>(`
  select t.*, null as refund_name, null as refund_by, null as refund_tx
  from transfers t
  where t.account = $1
    and lower(t.sender) = lower($2)
    and t.amount = $3
    and t.state <> 'matched'
    and t.state in ${OPEN_STATES}
  order by t.found_at desc, t.block_number desc
  limit $4`)

/** Open transfers that may be a missing payment, brought by another transaction than its order counts on. Only their names can tell. */
export async function openLike(
  queryable: Queryable,
  account: string,
  { sender, amount }: Pick<BookedTransfer, 'sender' | 'amount'>,
  limit: number,
): Promise<readonly BookedTransfer[]> {
  return (await queryable.query(LIKE, [account, sender, amount.toString(), limit])).rows.map(fromTransferRow)
}
