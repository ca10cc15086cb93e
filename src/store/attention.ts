import type { Trouble } from '../domain/trouble.ts'
import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

/** Paid for, and not at its end after so long: whatever keeps it, somebody should look. */
const STUCK_SECONDS = 900
/** Losses and messages that were given up stay as they are; nobody is reminded of them for ever. */
const NEWS_SECONDS = 86_400
/** So many of each kind are told one by one; what is beyond them is in the figures. */
const EACH_MAX = 50

// Money first. Each part reads an index that holds only what is open.
const NEEDED = statement<{ about: string; detail: string }>(`
  (select o.id as about,
          'Order ' || o.id || ' is paid and has been ' || o.status || ' for more than ${STUCK_SECONDS / 60} minutes: sutler orders show ' || o.id as detail
   from orders o
   where o.status not in ('confirmed', 'refunded', 'expired')
     and (o.status <> 'settling' or o.in_doubt)
     and o.created_at < $1::timestamptz - interval '${STUCK_SECONDS} seconds'
   order by o.created_at
   limit ${EACH_MAX})
  union all
  (select m.order_id,
          'The chain dropped the payment of order ' || m.order_id || ', and it can never land again: sutler orders show ' || m.order_id
   from missing_settlements m
   where m.state = 'lost'
     and m.updated_at > $1::timestamptz - interval '${NEWS_SECONDS} seconds'
   order by m.updated_at
   limit ${EACH_MAX})
  union all
  (select a.id,
          'Money without a purchase waits for a decision: sutler arrivals show ' || a.id
   from arrivals a
   where a.state = 'held'
   order by a.found_at
   limit ${EACH_MAX})
  union all
  (select w.id,
          'Messages to webhook ' || w.id || ' were given up: mend the receiver, then sutler webhooks replay ' || w.id
   from webhook_endpoints w
   where exists (
     select
     from webhook_deliveries d
     where d.endpoint_id = w.id
       and d.state = 'dead'
       and d.updated_at > $1::timestamptz - interval '${NEWS_SECONDS} seconds')
   limit ${EACH_MAX})`)

/** What waits for a person. */
export async function readAttention(queryable: Queryable, now: number): Promise<readonly Trouble[]> {
  const { rows } = await queryable.query(NEEDED, [new Date(now)])
  const byName = new Map(rows.map((row) => [row.about, row]))
  return [...byName.values()].map(({ about, detail }) => ({ kind: 'attention', about, detail }))
}
