import type { Address, Hash } from '../base/address.ts'
import { newId, type Random } from '../base/id.ts'
import { type JsonObject, stringify } from '../base/json.ts'
import type { EventType } from '../domain/event.ts'
import type { OrderStatus } from '../domain/order.ts'
import type { Arrival, ArrivalState, Transfer } from '../domain/till.ts'
import type { Database, Queryable } from './db.ts'
import { statement } from './statement.ts'

type Row = {
  id: string
  till: string
  transaction: Hash
  log_index: number
  block_number: string
  sender: Address
  amount: string
  state: ArrivalState
  reason: string | null
  order_id: string | null
  refund_tx: Hash | null
  decided_by: string | null
  found_at: Date
}

const ADD_TILL = statement(`
  insert into tills (id, first_block, checked_block)
  values ($1, $2::bigint + 1, $2)
  on conflict (id) do nothing`)

const TILL = statement<{ from_block: string; silent_seconds: number }>(`
  select greatest(first_block, checked_block + 1 - $2::bigint) as from_block,
         extract(epoch from now() - alive_at)::float8 as silent_seconds
  from tills
  where id = $1`)

export type TillMark = {
  /** Where the next reading begins. */
  readonly fromBlock: bigint
  /** For how long nobody has looked. */
  readonly silentSeconds: number
  readonly isNew: boolean
}

/** Where the reading of a till goes on, so many blocks back from where it stopped; a new till begins after the block given. */
export async function openTill(
  queryable: Queryable,
  id: string,
  { after, again }: { readonly after: bigint; readonly again: bigint },
): Promise<TillMark> {
  const added = await queryable.query(ADD_TILL, [id, after.toString()])
  const { rows } = await queryable.query(TILL, [id, again.toString()])
  const { from_block, silent_seconds } = rows[0]!
  return { fromBlock: BigInt(from_block), silentSeconds: silent_seconds, isNew: added.rowCount === 1 }
}

const DROP = statement<{ order_id: string }>(`
  with gone as (
    select id, state, order_id
    from arrivals a
    where till = $1
      and block_number between $2 and $3
      and state not in ('dropped', 'refunding', 'refunded')
      and not exists (
        select
        from unnest($4::text[], $5::int[]) as seen (transaction, log_index)
        where seen.transaction = a.transaction
          and seen.log_index = a.log_index)
  ), dropped as (
    update arrivals a
    set state = 'dropped',
        updated_at = now()
    from gone
    where a.id = gone.id
  )
  select order_id
  from gone
  where state = 'matched'`)

const INSERT = statement<{ id: string }>(`
  insert into arrivals (id, till, transaction, log_index, block_number, sender, amount, state)
  select id, $1, transaction, log_index, block_number, sender, amount, 'unclaimed'
  from unnest($2::text[], $3::text[], $4::int[], $5::bigint[], $6::text[], $7::numeric[])
    as t (id, transaction, log_index, block_number, sender, amount)
  on conflict (till, transaction, log_index) do update
  set block_number = excluded.block_number,
      state = case when arrivals.state = 'dropped' then 'unclaimed' else arrivals.state end,
      updated_at = now()
  where arrivals.block_number <> excluded.block_number
     or arrivals.state = 'dropped'
  returning id`)

const ADVANCE = statement(`
  update tills
  set checked_block = greatest(checked_block, $2),
      alive_at = now()
  where id = $1`)

export type Scan = { readonly fromBlock: bigint; readonly toBlock: bigint; readonly transfers: readonly Transfer[] }

/**
 * Writes down what the chain shows of a range of blocks, and moves the mark on. What was seen there before and is gone now, the chain has
 * dropped; returned are the orders that it had paid.
 */
export function recordScan(db: Database, till: string, scan: Scan, random: Random): Promise<readonly string[]> {
  const { fromBlock, toBlock, transfers } = scan
  return db.transaction(async (tx) => {
    const hashes = transfers.map(({ transaction }) => transaction)
    const indexes = transfers.map(({ logIndex }) => logIndex)
    const { rows } = await tx.query(DROP, [till, fromBlock.toString(), toBlock.toString(), hashes, indexes])
    await tx.query(INSERT, [
      till,
      transfers.map(() => newId('arr', random)),
      hashes,
      indexes,
      transfers.map(({ blockNumber }) => blockNumber.toString()),
      transfers.map(({ sender }) => sender),
      transfers.map(({ amount }) => amount.toString()),
    ])
    await tx.query(ADVANCE, [till, toBlock.toString()])
    return rows.map(({ order_id }) => order_id)
  })
}

// A transaction may hold several transfers and pay several orders: each transfer pays one, and they are told apart by payer and amount.
const MATCH = statement<{ id: string }>(`
  with arrived as (
    select id, transaction, lower(sender) as payer, amount,
           row_number() over (partition by transaction, lower(sender), amount order by log_index) as rank
    from arrivals
    where till = $1
      and state in ('unclaimed', 'orphaned')
  ), paid as (
    select o.id, o.payment_tx, lower(o.payer) as payer, o.amount,
           row_number() over (partition by o.payment_tx, lower(o.payer), o.amount order by o.id) as rank
    from orders o
    where o.payment_tx in (select transaction from arrived)
      and o.network = $2
      and not exists (select from arrivals m where m.order_id = o.id and m.state = 'matched')
  )
  update arrivals a
  set state = 'matched',
      order_id = paid.id,
      reason = null,
      updated_at = now()
  from arrived
  join paid
    on paid.payment_tx = arrived.transaction
   and paid.payer = arrived.payer
   and paid.amount = arrived.amount
   and paid.rank = arrived.rank
  where a.id = arrived.id
    and a.state in ('unclaimed', 'orphaned')
  returning a.id`)

/** Finds the order of every transfer that has none yet. Returns how many were found. */
export async function matchArrivals(queryable: Queryable, till: string, network: string): Promise<number> {
  return (await queryable.query(MATCH, [till, network])).rows.length
}

const OPEN = statement<Row & { age_seconds: number }>(`
  select *, extract(epoch from now() - found_at)::float8 as age_seconds
  from arrivals
  where till = $1
    and state in ('unclaimed', 'orphaned', 'held', 'refunding')
  order by found_at, id
  limit $2`)

/** What nobody claimed, oldest first, each with its age. */
export async function openArrivals(
  queryable: Queryable,
  till: string,
  limit: number,
): Promise<readonly { readonly arrival: Arrival; readonly ageSeconds: number }[]> {
  const { rows } = await queryable.query(OPEN, [till, limit])
  return rows.map((row) => ({ arrival: fromRow(row), ageSeconds: row.age_seconds }))
}

const BY_ID = statement<Row>(`
  select *
  from arrivals
  where id = $1`)

export async function findArrival(queryable: Queryable, id: string): Promise<Arrival | null> {
  const { rows } = await queryable.query(BY_ID, [id])
  return rows[0] ? fromRow(rows[0]) : null
}

const BY_TRANSACTION = statement<Row>(`
  select *
  from arrivals
  where transaction = lower($1)
    and state not in ('matched', 'own', 'dropped')
  order by log_index
  limit 1`)

/** Money that a payer may be looking for: it reached us, and no order has it. */
export async function strayArrival(queryable: Queryable, transaction: string): Promise<Arrival | null> {
  const { rows } = await queryable.query(BY_TRANSACTION, [transaction])
  return rows[0] ? fromRow(rows[0]) : null
}

const CLAIMANT = statement<{
  order_id: string | null
  arrival_id: string | null
  status: OrderStatus | null
  has_other: boolean
}>(`
  select i.order_id, i.arrival_id, o.status,
         exists (select from arrivals m where m.order_id = i.order_id and m.state = 'matched') as has_other
  from payment_identities i
  left join orders o on o.id = i.order_id
  where i.identity = $1`)

export type Claimant =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'arrival'; readonly arrivalId: string }
  /** `isPaid`: another transfer is known to have paid it. */
  | { readonly kind: 'order'; readonly orderId: string; readonly status: OrderStatus; readonly isPaid: boolean }

/** Who has claimed a payment by this name? Nobody, if it has none. */
export async function claimantOf(queryable: Queryable, identity: string | null): Promise<Claimant> {
  const { rows } = await queryable.query(CLAIMANT, [identity])
  const [row] = rows
  if (!row) return { kind: 'nobody' }
  if (row.arrival_id !== null) return { kind: 'arrival', arrivalId: row.arrival_id }
  return { kind: 'order', orderId: row.order_id!, status: row.status!, isPaid: row.has_other }
}

const CLAIM = statement<{ identity: string }>(`
  insert into payment_identities (identity, handle, arrival_id)
  values ($1, regexp_replace($1, '^.*/', ''), $2)
  on conflict (identity) do nothing
  returning identity`)

const CHANGE = statement<Row>(`
  with changed as (
    update arrivals
    set state = $3,
        reason = $4,
        order_id = coalesce($5, order_id),
        refund_tx = coalesce($6, refund_tx),
        decided_by = coalesce($7, decided_by),
        sequence = sequence + case when $8::text is null then 0 else 1 end,
        updated_at = now()
    where id = $1
      and state = $2
    returning *
  ), logged as (
    insert into events (subject, sequence, type, data)
    select id, sequence, $8, $9::jsonb
    from changed
    where $8::text is not null
  )
  select *
  from changed`)

export type ArrivalChange = {
  readonly to: ArrivalState
  readonly reason: string | null
  readonly orderId?: string | undefined
  readonly refundTx?: Hash | undefined
  readonly decidedBy?: string | undefined
  /** The payment's name, to be taken so that it can never buy anything. */
  readonly claim?: string | null | undefined
  readonly event: { readonly type: EventType; readonly data: JsonObject } | null
}

/** The arrival as it will be, for its event. */
export function changedArrival(arrival: Arrival, change: Omit<ArrivalChange, 'event'>): Arrival {
  const { to, reason, orderId, refundTx, decidedBy } = change
  return {
    ...arrival,
    state: to,
    reason,
    orderId: orderId ?? arrival.orderId,
    refundTx: refundTx ?? arrival.refundTx,
    decidedBy: decidedBy ?? arrival.decidedBy,
  }
}

/**
 * State, event and claim together, or nothing. Null when it changed meanwhile, or when its name was taken a moment ago: then somebody
 * presented the payment after all.
 */
export async function changeArrival(db: Database, arrival: Arrival, change: ArrivalChange): Promise<Arrival | null> {
  const { to, reason, orderId, refundTx, decidedBy, claim, event } = change
  return db
    .transaction(async (tx) => {
      const { rows } = await tx.query(CHANGE, [
        arrival.id,
        arrival.state,
        to,
        reason,
        orderId,
        refundTx,
        decidedBy,
        event?.type ?? null,
        event && stringify(event.data),
      ])
      if (!rows[0]) return null
      if (claim != null && (await tx.query(CLAIM, [claim, arrival.id])).rows.length === 0) throw new NameTaken()
      return fromRow(rows[0])
    })
    .catch((error) => {
      if (error instanceof NameTaken) return null
      throw error
    })
}

/** Rolls the change back. */
class NameTaken extends Error {}

function fromRow(row: Row): Arrival {
  return {
    id: row.id,
    till: row.till,
    transaction: row.transaction,
    logIndex: row.log_index,
    blockNumber: BigInt(row.block_number),
    sender: row.sender,
    amount: BigInt(row.amount),
    state: row.state,
    reason: row.reason,
    orderId: row.order_id,
    refundTx: row.refund_tx,
    decidedBy: row.decided_by,
    foundAt: row.found_at.getTime(),
  }
}
