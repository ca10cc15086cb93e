import type { RetainedThing } from '../../domain/retention.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'

// Each statement looks at a few rows, by an index, deletes what is due among them, and is over: nobody who sells ever waits for it. What
// somebody else is at work on is skipped. None of them touches the name of a payment that was ever made.

/**
 * Among tens of thousands of rows such a step took 3 to 16 ms on PostgreSQL and 3 to 51 on the embedded engine, on a busy machine; then everybody else
 * has their turn. It stands in the statements themselves: a plan that does not know how few rows it is about would read whole tables.
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
      and not exists (select from arrivals a where a.order_id = o.id and a.state = 'matched')
      and not exists (select from arrivals a where a.order_id = o.id and a.state <> 'matched')
      and not exists (select from missing_settlements m where m.order_id = o.id)
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

// The bytes that were answered. What was bought, for what, and the signed receipt stay: the answer can be written again from them.
const BODIES = statement<Gone>(`
  with mark as (
    select coalesce(max(bodies_at), '-infinity'::timestamptz) as at, coalesce(max(bodies_id), '') as id
    from retention
  ), looked as (
    select o.id, o.created_at
    from orders o, mark
    where (o.created_at, o.id) > (mark.at, mark.id)
      and o.created_at < $1
    order by o.created_at, o.id
    limit ${STEP_ROWS}
  ), emptied as (
    update orders o
    set answer_status = null,
        answer_headers = null,
        answer_body = null,
        tries = '[]'
    from looked
    where o.id = looked.id
      and o.status in ('confirmed', 'refunded', 'expired')
    returning o.id
  ), unheld as (
    delete from holds h
    using emptied
    where h.order_id = emptied.id
      and h.released_at is not null
  ), uncalled as (
    delete from game_calls g
    using emptied
    where g.order_id = emptied.id
      and g.verdict is null
  ), marked as (
    insert into retention (bodies_at, bodies_id)
    select created_at, id
    from looked
    order by created_at desc, id desc
    limit 1
    on conflict (id) do update
    set bodies_at = excluded.bodies_at,
        bodies_id = excluded.bodies_id
  )
  select count(*)::int as gone
  from looked`)

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

// What was sent to an endpoint, oldest first, up to what it still waits for.
const DELIVERIES = statement<Gone>(`
  with looked as (
    select w.id as endpoint_id, d.position, d.event_id, d.created_at, d.state
    from webhook_endpoints w
    cross join lateral (
      select position, event_id, created_at, state
      from webhook_deliveries
      where endpoint_id = w.id
        and position > w.forgotten
      order by position
      limit ${STEP_ROWS}
    ) as d
  ), due as (
    select l.endpoint_id, l.event_id, l.position
    from looked l
    where l.position < coalesce(
      (select min(s.position) from looked s where s.endpoint_id = l.endpoint_id and (s.created_at >= $1 or s.state = 'pending')),
      9223372036854775807)
  ), deleted as (
    delete from webhook_deliveries d
    using due
    where d.endpoint_id = due.endpoint_id
      and d.event_id = due.event_id
    returning d.endpoint_id, d.position
  ), marked as (
    update webhook_endpoints w
    set forgotten = greatest(w.forgotten, last.position)
    from (select endpoint_id, max(position) as position from deleted group by endpoint_id) as last
    where w.id = last.endpoint_id
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
      and not exists (select from arrivals a where a.id = s.order_id and a.state = 'refunding')
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
const ARRIVALS = statement<Gone>(`
  with due as (
    select distinct d.till, d.transaction
    from (
      select a.till, a.transaction
      from arrivals a
      join tills t on t.id = a.till
      where a.state in ('matched', 'own', 'dust', 'kept', 'refunded')
        and a.updated_at < $1
        and a.found_at < t.alive_at - interval '1 hour'
      order by a.updated_at
      limit ${STEP_ROWS}
    ) as d
    where not exists (
      select
      from arrivals b
      where b.till = d.till
        and b.transaction = d.transaction
        and (b.updated_at >= $1
          or b.state not in ('matched', 'own', 'dust', 'kept', 'refunded')))
  ), deleted as (
    delete from arrivals a
    using due
    where a.till = due.till
      and a.transaction = due.transaction
    returning a.id
  )
  select count(*)::int as gone
  from deleted`)

const STEPS = {
  unpaid: UNPAID,
  bodies: BODIES,
  events: EVENTS,
  deliveries: DELIVERIES,
  sends: SENDS,
  arrivals: ARRIVALS,
}

/** Lets go of a few things that are older than the cutoff. Returns how many it came across; none, and it is through. */
export async function letGoOf(queryable: Queryable, thing: RetainedThing, before: number): Promise<number> {
  return (await queryable.query(STEPS[thing], [new Date(before)])).rows[0]!.gone
}

const TROUBLES = statement(`
  delete from troubles
  where id in (select id from troubles where ended_at < $1 order by ended_at limit ${STEP_ROWS})`)

// A payer who has authorized nothing that is still open is as good as unknown. Whoever opens an order at this moment has the row locked, and it is skipped.
const IDLE_EXPOSURES = statement(`
  delete from exposures
  where (payer, network) in (
    select payer, network from exposures where open_orders = 0 limit ${STEP_ROWS} for update skip locked)
    and open_orders = 0`)

/** Small things that nobody asks for: troubles that are over, and payers who owe nothing. */
export async function tidyUp(queryable: Queryable, before: number): Promise<void> {
  await queryable.query(TROUBLES, [new Date(before)])
  await queryable.query(IDLE_EXPOSURES)
}
