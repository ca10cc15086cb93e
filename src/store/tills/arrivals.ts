import type { Address, Hash } from '../../base/address.ts'
import { stringify } from '../../base/json.ts'
import type { ToldEvent } from '../../domain/event.ts'
import type { OrderStatus } from '../../domain/order.ts'
import type { Arrival, ArrivalState } from '../../domain/till.ts'
import type { Alongside, Database, Queryable } from '../db.ts'
import { IS_KNOWN_HISTORY } from '../history.ts'
import { assertWithin, type RefundBudget } from '../refund-budget.ts'
import { statement } from '../statement.ts'
import { takeName, unlessNameTaken } from './payment-name.ts'

export type ArrivalRow = {
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

const DUE = statement<ArrivalRow>(`
  select *
  from arrivals
  where till = $1
    and state in ('unclaimed', 'orphaned', 'refunding')
    and (state <> 'unclaimed' or amount >= $5)
    and due_at <= now()
    and (hastened
      or state = 'refunding'
      or found_at <= now() - make_interval(secs => case state when 'unclaimed' then $3::float8 else $4::float8 end))
  order by due_at, id
  limit $2`)

/** The arrivals to work on now, longest untouched first: neither those that wait for an operator, nor dust, nor what the next sweep turns into dust. */
export async function dueArrivals(
  queryable: Queryable,
  till: string,
  {
    limit,
    orphanAfterSeconds,
    refundAfterSeconds,
    refundAtLeast,
  }: DustLine & { readonly limit: number; readonly refundAfterSeconds: number },
): Promise<readonly Arrival[]> {
  const values = [till, limit, orphanAfterSeconds, refundAfterSeconds, refundAtLeast.toString()]
  return (await queryable.query(DUE, values)).rows.map(fromArrivalRow)
}

/** Below this amount, and after so long without an order, it is dust. */
type DustLine = { readonly refundAtLeast: bigint; readonly orphanAfterSeconds: number }

const SWEEP = statement(`
  update arrivals
  set state = 'dust',
      reason = 'It is too little to open a case for.',
      updated_at = now()
  where till = $1
    and state = 'unclaimed'
    and amount < $2
    and (hastened or found_at <= now() - make_interval(secs => $3))`)

/** Turns old small arrivals into dust, all in one statement, however many there are. An order that claims one of them later gets it. */
export async function sweepDust(
  queryable: Queryable,
  till: string,
  { refundAtLeast, orphanAfterSeconds }: DustLine,
): Promise<void> {
  await queryable.query(SWEEP, [till, refundAtLeast.toString(), orphanAfterSeconds])
}

const TOUCH = statement(`
  update arrivals
  set due_at = now()
  where id = $1`)

/** Puts an arrival that could not be worked on yet behind the others. */
export async function touchArrival(queryable: Queryable, { id }: Arrival): Promise<void> {
  await queryable.query(TOUCH, [id])
}

const HASTEN = statement<ArrivalRow>(`
  update arrivals
  set reason = $2,
      hastened = true,
      due_at = now() + make_interval(secs => $3)
  where id = $1
    and state = 'unclaimed'
    and not hastened
  returning *`)

/** Makes an arrival that its payer will hardly claim due soon, so that it goes back without the usual wait. */
export async function hastenArrival(
  queryable: Queryable,
  { id }: Arrival,
  { reason, seconds }: { readonly reason: string; readonly seconds: number },
): Promise<Arrival | null> {
  const { rows } = await queryable.query(HASTEN, [id, reason, seconds])
  return rows[0] ? fromArrivalRow(rows[0]) : null
}

const LIST = statement<ArrivalRow>(`
  select *
  from arrivals
  where till = $1
    and state = any ($2)
    and id > $3
  order by id
  limit $4`)

/** Page by page, in no order that means anything. */
export async function listArrivals(
  queryable: Queryable,
  till: string,
  {
    states,
    after,
    limit,
  }: { readonly states: readonly ArrivalState[]; readonly after: string; readonly limit: number },
): Promise<readonly Arrival[]> {
  return (await queryable.query(LIST, [till, states, after, limit])).rows.map(fromArrivalRow)
}

const SUM = statement<{ amount: string }>(`
  select coalesce(sum(amount), 0) as amount
  from arrivals
  where till = $1
    and state = any ($2)`)

export async function sumOfArrivals(
  queryable: Queryable,
  till: string,
  states: readonly ArrivalState[],
): Promise<bigint> {
  return BigInt((await queryable.query(SUM, [till, states])).rows[0]!.amount)
}

const OF_TRANSACTION = statement<ArrivalRow>(`
  select *
  from arrivals
  where till = $1
    and transaction = lower($2)
  order by log_index`)

export async function arrivalsOf(queryable: Queryable, till: string, transaction: string): Promise<readonly Arrival[]> {
  return (await queryable.query(OF_TRANSACTION, [till, transaction])).rows.map(fromArrivalRow)
}

const BY_ID = statement<ArrivalRow>(`
  select *
  from arrivals
  where id = $1`)

export async function findArrival(queryable: Queryable, id: string): Promise<Arrival | null> {
  const { rows } = await queryable.query(BY_ID, [id])
  return rows[0] ? fromArrivalRow(rows[0]) : null
}

const CLAIMANT = statement<{
  order_id: string | null
  arrival_id: string | null
  status: OrderStatus | null
  payment_tx: Hash | null
  has_other: boolean
}>(`
  select i.order_id, i.arrival_id, o.status, o.payment_tx,
         exists (select from arrivals m where m.order_id = i.order_id and m.state = 'matched') as has_other
  from payment_identities i
  left join orders o on o.id = i.order_id
  where i.identity = $1`)

export type Claimant =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'arrival'; readonly arrivalId: string }
  /** `isPaid`: another transfer is known to have paid it. */
  | {
      readonly kind: 'order'
      readonly orderId: string
      readonly status: OrderStatus
      readonly paymentTx: Hash | null
      readonly isPaid: boolean
    }

/** The order or arrival that has claimed this name of a payment; `nobody` for a payment without a name. */
export async function claimantOf(queryable: Queryable, identity: string | null): Promise<Claimant> {
  const { rows } = await queryable.query(CLAIMANT, [identity])
  const [row] = rows
  if (!row) return { kind: 'nobody' }
  // The order was never paid and was deleted: a payment that comes under its name now is unclaimed.
  if (row.arrival_id === null && row.order_id === null) return { kind: 'nobody' }
  if (row.arrival_id !== null) return { kind: 'arrival', arrivalId: row.arrival_id }
  const { order_id, status, payment_tx, has_other } = row
  return { kind: 'order', orderId: order_id!, status: status!, paymentTx: payment_tx, isPaid: has_other }
}

const CHANGE = statement<ArrivalRow>(`
  with changed as (
    update arrivals
    set state = $3,
        reason = $4,
        order_id = coalesce($5, order_id),
        refund_tx = coalesce($6, refund_tx),
        decided_by = coalesce($7, decided_by),
        due_at = now(),
        sequence = sequence + case when $8::text is null then 0 else 1 end,
        updated_at = now()
    where id = $1
      and state = $2
      and (not $10::boolean or ${IS_KNOWN_HISTORY})
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
  /** The payment's name, which is taken so that it can never buy anything. */
  readonly claim?: string | null | undefined
  readonly event: ToldEvent | null
  /** For an automatic refund; throws RefundsUsedUp when it would exceed the budget. */
  readonly budget?: RefundBudget | undefined
  /** What else is written in the same transaction: the audit entry. */
  readonly alongside?: Alongside | undefined
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
 * State, event and claim together, or nothing. Null when it changed meanwhile, or when its name was taken a moment ago: then its payer
 * presented it after all. Nor does a refund begin by itself on another store: what it is for may have bought.
 */
export async function changeArrival(db: Database, arrival: Arrival, change: ArrivalChange): Promise<Arrival | null> {
  const { to, reason, orderId, refundTx, decidedBy, claim, event, budget, alongside } = change
  return unlessNameTaken(db, async (tx) => {
    if (budget) await assertWithin(tx, arrival.amount, budget)
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
      budget !== undefined,
    ])
    if (!rows[0]) return null
    if (claim != null) await takeName(tx, claim, { kind: 'arrival', id: arrival.id })
    await alongside?.(tx)
    return fromArrivalRow(rows[0])
  })
}

export function fromArrivalRow(row: ArrivalRow): Arrival {
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
