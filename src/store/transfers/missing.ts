import type { Address, Hash } from '../../base/address.ts'
import type { Queryable } from '../db.ts'
import { plannedAnew } from '../statement.ts'

/** An order that counts as paid, and whose payment the final blocks do not show. */
export type MissingPayment = {
  readonly orderId: string
  readonly transaction: Hash
  readonly sender: Address
  readonly amount: bigint
}

// As a join it took seconds for some thousand orders while the statistics were older than they.
const FIND = plannedAnew<{ id: string; payment_tx: Hash; payer: Address; amount: string }>(`
  with settled as materialized (
    select o.id
    from orders o
    where o.network = $1
      and lower(o.asset) = lower($2)
      and lower(o.pay_to) = lower($3)
      and o.settled_at > $4
      and o.settled_at < $5
    union
    select unnest($6::text[])
  ), missing as materialized (
    select id
    from settled
    where id not in (
      select t.order_id
      from transfers t
      where t.order_id = any (array(select id from settled))
        and t.state = 'matched')
  )
  select o.id, o.payment_tx, o.payer, o.amount
  from orders o
  where o.id = any (array(select id from missing))
  order by o.settled_at, o.id
  limit $7`)

type MissingSearch = {
  readonly network: string
  readonly asset: string
  readonly payTo: string
  readonly settledAfter: number
  /** Orders settled later may be in blocks that are not final yet. */
  readonly settledBefore: number
  /** Those that were missing before. */
  readonly known: readonly string[]
  readonly limit: number
}

/** Orders settled in this time that no transfer was found for, and those of before that have none still. */
export async function findMissing(queryable: Queryable, search: MissingSearch): Promise<readonly MissingPayment[]> {
  const { network, asset, payTo, settledAfter, settledBefore, known, limit } = search
  const values = [network, asset, payTo, new Date(settledAfter), new Date(settledBefore), known, limit]
  return (await queryable.query(FIND, values)).rows.map(({ id, payment_tx, payer, amount }) => ({
    orderId: id,
    transaction: payment_tx,
    sender: payer,
    amount: BigInt(amount),
  }))
}
