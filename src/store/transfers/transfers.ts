import type { Address, Hash } from '../../base/address.ts'
import { stringify } from '../../base/json.ts'
import type { BookedTransfer, TransferState } from '../../domain/booked-transfer.ts'
import type { ToldEvent } from '../../domain/event.ts'
import type { Alongside, Database, Queryable } from '../db.ts'
import { IS_KNOWN_HISTORY } from '../history.ts'
import { assertWithin, type RefundBudget } from '../refund-budget.ts'
import { plannedAnew, statement } from '../statement.ts'
import { claimName, unlessClaimed } from './claims.ts'

export type TransferRow = {
  id: string
  account: string
  transaction: Hash
  log_index: number
  block_number: string
  sender: Address
  amount: string
  state: TransferState
  reason: string | null
  order_id: string | null
  decided_by: string | null
  found_at: Date
  refund_name: string | null
  refund_by: string | null
  refund_tx: Hash | null
}

/** What a query on `transfers t left join refunds r` selects to fill a `TransferRow`. */
export const TRANSFER_COLUMNS = 't.*, r.name as refund_name, r.requested_by as refund_by, r.transaction as refund_tx'
const BOOKED = `
  select ${TRANSFER_COLUMNS}
  from transfers t
  left join refunds r on r.transfer_id = t.id`

/** Its payer may still present it, and a person may decide about it. */
export const OPEN_STATES = `('unmatched', 'held')`
/** No order, operator or refund has accounted for it yet. */
const IS_UNBOOKED = `(t.state in ${OPEN_STATES} or (t.state = 'returned' and r.completed_at is null))`

const DUE = plannedAnew<TransferRow>(`
  (${BOOKED}
   where t.account = $1
     and t.state = 'unmatched'
     and t.amount >= $2
     and t.found_at <= now() - make_interval(secs => $3)
   order by t.updated_at, t.id
   limit $4)
  union all
  (${BOOKED}
   where t.account = $1
     and t.state = 'returned'
     and r.completed_at is null
   order by t.updated_at, t.id
   limit $4)`)

type Due = { readonly atLeast: bigint; readonly afterSeconds: number; readonly limit: number }

/** The transfers to work on now, longest untouched first: neither those that wait for a person, nor what is too little to be sent back. */
export async function dueTransfers(
  queryable: Queryable,
  account: string,
  { atLeast, afterSeconds, limit }: Due,
): Promise<readonly BookedTransfer[]> {
  const { rows } = await queryable.query(DUE, [account, atLeast.toString(), afterSeconds, limit])
  return rows.map(fromTransferRow)
}

const TOUCH = statement(`
  update transfers
  set updated_at = now()
  where id = $1`)

/** Puts a transfer that could not be worked on yet behind the others. */
export async function touchTransfer(queryable: Queryable, { id }: BookedTransfer): Promise<void> {
  await queryable.query(TOUCH, [id])
}

const OPEN = statement<TransferRow>(`
  ${BOOKED}
  where t.account = $1
    and t.amount >= $2
    and ${IS_UNBOOKED}
  order by t.found_at, t.id
  limit $3`)

/** What no order, operator or refund has accounted for yet, but for what is too little to be told of. */
export async function openTransfers(
  queryable: Queryable,
  account: string,
  { atLeast, limit }: Omit<Due, 'afterSeconds'>,
): Promise<readonly BookedTransfer[]> {
  return (await queryable.query(OPEN, [account, atLeast.toString(), limit])).rows.map(fromTransferRow)
}

const SUM = statement<{ amount: string }>(`
  select coalesce(sum(t.amount), 0) as amount
  from transfers t
  left join refunds r on r.transfer_id = t.id
  where t.account = $1
    and t.amount >= $2
    and ${IS_UNBOOKED}`)

export async function sumOfOpen(queryable: Queryable, account: string, atLeast: bigint): Promise<bigint> {
  return BigInt((await queryable.query(SUM, [account, atLeast.toString()])).rows[0]!.amount)
}

const OF_TRANSACTION = statement<TransferRow>(`
  ${BOOKED}
  where t.account = $1
    and t.transaction = lower($2)
  order by t.log_index`)

export async function transfersOf(
  queryable: Queryable,
  account: string,
  transaction: string,
): Promise<readonly BookedTransfer[]> {
  return (await queryable.query(OF_TRANSACTION, [account, transaction])).rows.map(fromTransferRow)
}

const BY_ID = statement<TransferRow>(`
  ${BOOKED}
  where t.id = $1`)

export async function findTransfer(queryable: Queryable, id: string): Promise<BookedTransfer | null> {
  const { rows } = await queryable.query(BY_ID, [id])
  return rows[0] ? fromTransferRow(rows[0]) : null
}

const CHANGE = statement<{ id: string }>(`
  with changed as (
    update transfers
    set state = $3,
        reason = $4,
        order_id = coalesce($5, order_id),
        decided_by = coalesce($6, decided_by),
        sequence = sequence + case when $7::text is null then 0 else 1 end,
        updated_at = now()
    where id = $1
      and state = $2
      and state in ${OPEN_STATES}
      and (not $9::boolean or ${IS_KNOWN_HISTORY})
    returning id, sequence
  ), logged as (
    insert into events (subject, sequence, type, data)
    select id, sequence, $7, $8::jsonb
    from changed
    where $7::text is not null
  )
  select id
  from changed`)

const BEGIN_REFUND = statement(`
  insert into refunds (id, transfer_id, name, amount, recipient, reason, requested_by)
  values ($1, $2, $3, $4, $5, $6, $7)`)

export type TransferChange = {
  readonly to: 'held' | 'kept' | 'returned'
  readonly reason: string | null
  readonly orderId?: string | undefined
  readonly decidedBy?: string | undefined
  /** The payment's name, which is claimed so that it can never buy anything. */
  readonly claim?: string | null | undefined
  readonly refund?: { readonly id: string; readonly name: string; readonly by: string } | undefined
  readonly event: ToldEvent | null
  /** For an automatic refund; throws RefundsUsedUp when it would exceed the budget. */
  readonly budget?: RefundBudget | undefined
  /** What else is written in the same transaction: the audit entry. */
  readonly alongside?: Alongside | undefined
}

/** The transfer as it will be, for its event. */
export function changedTransfer(
  transfer: BookedTransfer,
  { to, reason, orderId, decidedBy, refund }: Omit<TransferChange, 'event'>,
): BookedTransfer {
  return {
    ...transfer,
    state: to,
    reason,
    orderId: orderId ?? transfer.orderId,
    decidedBy: decidedBy ?? transfer.decidedBy,
    refund: refund ? { name: refund.name, by: refund.by, transaction: null } : transfer.refund,
  }
}

/**
 * State, event, claim and refund together, or nothing. Null when it changed meanwhile, or when its name was claimed a moment ago: then its payer
 * presented it after all. Nor does a refund begin by itself on another store: what it is for may have bought.
 */
export async function changeTransfer(
  db: Database,
  transfer: BookedTransfer,
  change: TransferChange,
): Promise<BookedTransfer | null> {
  const { to, reason, orderId, decidedBy, claim, refund, event, budget, alongside } = change
  return unlessClaimed(db, async (tx) => {
    if (budget) await assertWithin(tx, transfer.amount, budget)
    const { rows } = await tx.query(CHANGE, [
      transfer.id,
      transfer.state,
      to,
      reason,
      orderId,
      decidedBy,
      event?.type ?? null,
      event && stringify(event.data),
      budget !== undefined,
    ])
    if (!rows[0]) return null
    if (claim != null) await claimName(tx, claim, { kind: 'transfer', id: transfer.id })
    if (refund) {
      const { id, name, by } = refund
      const why = reason ?? 'No purchase came with it.'
      await tx.query(BEGIN_REFUND, [id, transfer.id, name, transfer.amount.toString(), transfer.sender, why, by])
    }
    await alongside?.(tx)
    return changedTransfer(transfer, change)
  })
}

const COMPLETE = statement<{ transfer_id: string }>(`
  with completed as (
    update refunds
    set transaction = $2,
        completed_at = now()
    where transfer_id = $1
      and completed_at is null
    returning transfer_id
  ), changed as (
    update transfers
    set sequence = sequence + 1,
        updated_at = now()
    where id in (select transfer_id from completed)
    returning id, sequence
  ), logged as (
    insert into events (subject, sequence, type, data)
    select id, sequence, $3, $4::jsonb
    from changed
  )
  select transfer_id
  from completed`)

/** The money has landed. */
export async function completeRefund(
  queryable: Queryable,
  { id }: BookedTransfer,
  transaction: Hash,
  event: ToldEvent,
): Promise<void> {
  await queryable.query(COMPLETE, [id, transaction, event.type, stringify(event.data)])
}

export function fromTransferRow(row: TransferRow): BookedTransfer {
  const { refund_name: name, refund_by: by, refund_tx: transaction } = row
  return {
    id: row.id,
    account: row.account,
    transaction: row.transaction,
    logIndex: row.log_index,
    blockNumber: BigInt(row.block_number),
    sender: row.sender,
    amount: BigInt(row.amount),
    state: row.state,
    reason: row.reason,
    orderId: row.order_id,
    decidedBy: row.decided_by,
    foundAt: row.found_at.getTime(),
    refund: name !== null && by !== null ? { name, by, transaction } : null,
  }
}
