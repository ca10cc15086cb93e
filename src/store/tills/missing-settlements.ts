import type { Address, Hash } from '../../base/address.ts'
import type { Queryable } from '../db.ts'
import { plannedAnew, statement } from '../statement.ts'

/** An order that counts as paid, and whose payment the chain does not show. */
export type MissingSettlement = {
  readonly orderId: string
  readonly transaction: Hash
  readonly sender: Address
  readonly amount: bigint
  /** `open`: it may still come back. `lost`: it cannot, and the money is gone. */
  readonly state: 'open' | 'lost'
  readonly detail: string
  /** When it was found missing, or when its payment expired, if that was later: until then a node may bring it back. In milliseconds. */
  readonly since: number
}

// As a join it took seconds for some thousand orders while the statistics were older than they.
const FIND = plannedAnew(`
  with settled as materialized (
    select o.id
    from orders o
    where o.network = $2
      and lower(o.asset) = lower($3)
      and lower(o.pay_to) = lower($4)
      and o.settled_at > now() - make_interval(secs => $5)
      and o.settled_at < $6
  )
  insert into missing_settlements (order_id, till, state, detail)
  select id, $1, 'open', 'The chain shows no such payment.'
  from settled
  where id not in (
    select a.order_id
    from arrivals a
    where a.order_id = any (array(select id from settled))
      and a.state = 'matched')
  on conflict (order_id) do nothing`)

type MissingSearch = {
  readonly till: string
  readonly network: string
  readonly asset: string
  readonly payTo: string
  /** How far back orders are looked at. */
  readonly seconds: number
  /** Orders settled later may be in blocks that were not read yet. */
  readonly before: number
}

/** Looks for orders that were settled while the till was being read, and that no transfer was found for. */
export async function findMissing(queryable: Queryable, search: MissingSearch): Promise<void> {
  const { till, network, asset, payTo, seconds, before } = search
  await queryable.query(FIND, [till, network, asset, payTo, seconds, new Date(before)])
}

// A lost payment is crossed off when no process works on its order: one may have read just now that it is lost, and would come back in an hour.
// Its sends are watched again, whatever the snapshot of this statement says of them: the watch may have been ended a moment ago.
const LANDED = plannedAnew(`
  with arrived as (
    select m.order_id
    from missing_settlements m
    where m.till = $1
      and m.state <> 'landed'
      and exists (select from arrivals a where a.order_id = m.order_id and a.state = 'matched')
  ), idle as (
    select j.id, j.key
    from jobs j
    where j.kind = 'order'
      and j.key in (select order_id from arrived)
      and j.lease is null
    for update
  ), landed as (
    update missing_settlements m
    set state = 'landed',
        updated_at = now()
    where m.order_id in (select order_id from arrived)
      and m.state <> 'landed'
      and (m.state = 'open'
        or m.order_id in (select key from idle)
        or not exists (select from jobs j where j.kind = 'order' and j.key = m.order_id))
    returning m.order_id
  ), watched as (
    update sends
    set buried = false
    where order_id = any (array(select order_id from landed))
      and landed_block is not null
  )
  update jobs
  set run_at = least(run_at, now())
  where id in (select id from idle)`)

// Those that are open first: lost ones seldom become fewer.
const LIST = statement<{
  order_id: string
  payment_tx: Hash
  sender: Address
  amount: string
  state: 'open' | 'lost'
  detail: string
  since: Date
}>(`
  select m.order_id, o.payment_tx, o.payer as sender, o.amount, m.state, m.detail, greatest(m.updated_at, o.expires_at) as since
  from missing_settlements m
  join orders o on o.id = m.order_id
  where m.till = $1
    and m.state <> 'landed'
  order by m.state desc, m.found_at
  limit $2`)

/** The payments that are missing now. Those that have come back are crossed off first, and their waiting refunds become due. */
export async function listMissing(
  queryable: Queryable,
  till: string,
  limit: number,
): Promise<readonly MissingSettlement[]> {
  const list = async () => (await queryable.query(LIST, [till, limit])).rows
  // None is, mostly.
  if ((await list()).length === 0) return []
  await queryable.query(LANDED, [till])
  return (await list()).map(({ order_id, payment_tx, sender, amount, state, detail, since }) => ({
    orderId: order_id,
    transaction: payment_tx,
    sender,
    amount: BigInt(amount),
    state,
    detail,
    since: since.getTime(),
  }))
}

const OF_ORDER = statement<Pick<MissingSettlement, 'state'>>(`
  select state
  from missing_settlements
  where order_id = $1
    and state <> 'landed'`)

/** Is the payment of this order missing on the chain? Null: it is not. */
export async function missingOf(queryable: Queryable, orderId: string): Promise<MissingSettlement['state'] | null> {
  return (await queryable.query(OF_ORDER, [orderId])).rows[0]?.state ?? null
}

const LOSE = statement<{ order_id: string }>(`
  update missing_settlements
  set state = 'lost',
      detail = $2,
      updated_at = now()
  where order_id = $1
    and state = 'open'
  returning order_id`)

/** Marks a payment as lost for good. True the first time: then operators are told. */
export async function writeOff(queryable: Queryable, id: string, detail: string): Promise<boolean> {
  return (await queryable.query(LOSE, [id, detail])).rows.length === 1
}
