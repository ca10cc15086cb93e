import type { Queryable } from '../db.ts'
import { isSilent, isTransient } from '../fault.ts'
import { statement } from '../statement.ts'
import { FILL_QUEUES } from './deliveries.ts'

type Placing = { readonly placed: number; readonly were_waiting: boolean }

// The lock on the end of the log is held until all is committed: places are given in one order, and become visible in the same. A statement
// sees the store as it was when it began; if another has placed events since, the end is no longer where we saw it, and nothing is done.
// Nobody waits for the disk: if a crash takes the places away, it takes everything that was committed after them too, and the same events get
// the same places again.
const PLACE = statement<Placing>(`
  with tail as materialized (
    select position
    from event_tail
    where (position, forgotten) = (select position, forgotten from event_tail)
      and exists (select from events where position is null)
    for update
  ), placed as (
    update events e
    set position = n.position
    from (
      select fresh.id, tail.position + row_number() over (order by fresh.id) as position
      from tail
      cross join (select id from events where position is null order by id limit $1) as fresh
    ) as n
    where e.id = n.id
    returning e.id, e.position, e.subject, e.type
  ), moved as (
    update event_tail
    set position = (select max(position) from placed)
    where exists (select from placed)
  ), queued as (
    insert into webhook_deliveries (endpoint_id, event_id, position, subject)
    select w.id, p.id, p.position, p.subject
    from placed p
    join webhook_endpoints w
      on w.state = 'enabled'
     and (w.event_types is null or p.type = any (w.event_types))
    on conflict (endpoint_id, event_id) do nothing
    returning endpoint_id, position, subject
  ), queues as (${FILL_QUEUES})
  select (select count(*)::int from placed) as placed,
         exists (select from events where position is null) as were_waiting,
         set_config('synchronous_commit', 'off', true)`)

// A store that has never placed anything has no end of the log yet.
const BEGIN = statement(`
  insert into event_tail (id, position)
  values (true, 0)
  on conflict (id) do nothing`)

/**
 * Appends what was committed since to the log, and queues it for whoever wants to hear of it: none twice, none forgotten. A row that commits
 * late, while others have overtaken it, is simply placed later. Changes of one subject wait for each other, so their order is kept.
 *
 * At most `limit` in one step. Returns how many had no place before and now have one; 0 when everything has.
 */
export async function placeEvents(queryable: Queryable, limit: number): Promise<number> {
  for (;;) {
    const { placed, were_waiting: wereWaiting } = await place(queryable, limit)
    if (placed > 0 || !wereWaiting) return placed
    // Another replica was faster, and may not have seen what we did; or nobody has ever been here.
    await queryable.query(BEGIN)
  }
}

const TRIES_MAX = 3

/** All or nothing, and the same again: a connection that goes away costs whoever reads the log another try, and no answer. */
async function place(queryable: Queryable, limit: number): Promise<Placing> {
  for (let tries = 1; ; tries++)
    try {
      const { rows } = await queryable.query(PLACE, [limit])
      return rows[0]!
    } catch (error) {
      const { cause } = error as Error
      // Whoever waits is not made to wait twice for a store that says nothing.
      if (!isTransient(cause) || isSilent(cause) || tries === TRIES_MAX) throw error
    }
}
