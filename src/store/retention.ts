import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

// Each statement looks at a few rows, by an index, deletes what is old among them, and is over: no sale ever waits for it. Rows that another
// replica works on are skipped. None of them touches the identity of a payment, nor an order that was paid.

/**
 * Among tens of thousands of rows such a step took 3 to 16 ms on PostgreSQL and 3 to 51 on the embedded engine, on a busy machine. It stands in
 * the statements themselves: a plan that does not know how few rows it is about would read whole tables.
 */
const STEP_ROWS = 20

type Gone = { readonly gone: number }

// Payments that never came. Nothing moved and nothing can move any more; their names stay taken all the same.
const UNPAID = statement<Gone>(`
  with due as (
    select o.id
    from orders o
    where o.status = 'expired'
      and o.updated_at < $1
      and o.expires_at < $1
      and not exists (select from transfers t where t.order_id = o.id and t.state = 'matched')
      and not exists (select from transfers t where t.order_id = o.id and t.state <> 'matched')
      and not exists (select from refunds r where r.order_id = o.id)
      and not exists (select from jobs j where j.kind = 'order' and j.key = o.id)
    order by o.updated_at
    limit ${STEP_ROWS}
    for update skip locked
  ), unnamed as (
    update payment_identities
    set order_id = null
    where order_id in (select id from due)
  ), unheld as (
    delete from holds
    where order_id in (select id from due)
  ), unnoted as (
    delete from order_notes
    where order_id in (select id from due)
  ), deleted as (
    delete from orders
    where id in (select id from due)
    returning id
  )
  select count(*)::int as gone
  from deleted`)

// From the beginning of the log on, so that it never has a gap. What was sent of them goes with them.
const EVENTS = statement<Gone>(`
  with looked as (
    select id, position, created_at
    from events
    where position > (select forgotten from event_tail)
    order by position
    limit ${STEP_ROWS}
  ), due as (
    select id, position
    from looked
    where position < coalesce((select min(position) from looked where created_at >= $1), 9223372036854775807)
  ), unsent as (
    delete from webhook_deliveries d
    using webhook_endpoints w
    where d.endpoint_id = w.id
      and d.position between (select min(position) from due) and (select max(position) from due)
  ), deleted as (
    delete from events e
    using due
    where e.id = due.id
    returning e.position
  ), marked as (
    update event_tail
    set forgotten = greatest(forgotten, (select max(position) from due))
    where exists (select from due)
  )
  select count(*)::int as gone
  from deleted`)

// The newest of each row of nonces always stays: nonces are counted on from it.
const SENDS = statement<Gone>(`
  with due as (
    select s.chain_id, s.signer, s.nonce_key, s.nonce
    from sends s
    where s.created_at < $1
      and (s.landed_block is null or s.buried)
      and not exists (select from jobs j where j.key = s.order_id)
      and not exists (select from refunds r where r.transfer_id = s.order_id and r.completed_at is null)
      and (s.nonce_key <> '' or exists (
        select
        from sends n
        where n.chain_id = s.chain_id
          and n.signer = s.signer
          and n.nonce_key = ''
          and n.nonce > s.nonce))
    order by s.created_at
    limit ${STEP_ROWS}
  ), deleted as (
    delete from sends s
    using due d
    where (s.chain_id, s.signer, s.nonce_key, s.nonce) = (d.chain_id, d.signer, d.nonce_key, d.nonce)
    returning s.nonce
  )
  select count(*)::int as gone
  from deleted`)

// All transfers of a transaction go together: what is left of one could be taken for the payment of its order. The books must have been
// kept since, for what they never looked at is not known to be there.
const TRANSFERS = statement<Gone>(`
  with due as (
    select distinct d.account, d.transaction
    from (
      select t.account, t.transaction
      from transfers t
      join receiving_accounts a on a.id = t.account
      where t.state in ('matched', 'kept', 'returned')
        and t.updated_at < $1
        and t.found_at < a.read_until - interval '1 hour'
      order by t.updated_at
      limit ${STEP_ROWS}
    ) as d
    where not exists (
      select
      from transfers b
      left join refunds r on r.transfer_id = b.id
      where b.account = d.account
        and b.transaction = d.transaction
        and (b.updated_at >= $1
          or b.state in ('unmatched', 'held')
          or (b.state = 'returned' and r.completed_at is null)))
  ), deleted as (
    delete from transfers t
    using due
    where t.account = due.account
      and t.transaction = due.transaction
    returning t.id
  ), unpaid as (
    delete from refunds r
    using deleted
    where r.transfer_id = deleted.id
  )
  select count(*)::int as gone
  from deleted`)

const olderRows = (table: string, time: string) =>
  statement<Gone>(`
  with deleted as (
    delete from ${table}
    where ctid in (select ctid from ${table} where ${time} < $1 limit ${STEP_ROWS} for update skip locked)
    returning 1
  )
  select count(*)::int as gone
  from deleted`)

// A payer who has authorized nothing that is still open is as good as unknown. An order that is opened at this moment has the row locked, and it is skipped.
const IDLE_EXPOSURES = statement(`
  delete from exposures
  where (payer, network) in (
    select payer, network from exposures where open_orders = 0 limit ${STEP_ROWS} for update skip locked)
    and open_orders = 0`)

const STEPS = {
  unpaid: UNPAID,
  events: EVENTS,
  sends: SENDS,
  transfers: TRANSFERS,
  troubles: olderRows('troubles', 'ended_at'),
  funnel: olderRows('funnel_counts', 'at'),
}

export type Retained = keyof typeof STEPS

export const retained = Object.keys(STEPS) as readonly Retained[]

/** Deletes a few rows that are older. Returns how many; 0: there are no more. */
export async function deleteStep(queryable: Queryable, what: Retained, before: number): Promise<number> {
  return (await queryable.query(STEPS[what], [new Date(before)])).rows[0]!.gone
}

export async function deleteIdleExposures(queryable: Queryable): Promise<void> {
  await queryable.query(IDLE_EXPOSURES)
}
