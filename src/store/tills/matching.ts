import type { Arrival } from '../../domain/till.ts'
import type { Database, Queryable } from '../db.ts'
import { statement } from '../statement.ts'
import { type ArrivalRow, claimFor, fromArrivalRow } from './arrivals.ts'

/** What waits for a person may still pay its order: until they have decided, its payer can present it. */
const OPEN = `('unclaimed', 'orphaned', 'dust', 'held')`

/** Orders that count as paid at this till, by this transfer or one that looks like it, and that no transfer was found for yet. */
const UNPAID = (arrival: string) => `
        o.payment_tx = ${arrival}.transaction
    and lower(o.network || '/' || o.asset || '/' || o.pay_to) = ${arrival}.till
    and lower(o.payer) = lower(${arrival}.sender)
    and o.amount = ${arrival}.amount
    and not exists (select from arrivals m where m.order_id = o.id and m.state = 'matched')`

/** Another transfer of the same transaction that only its name tells apart. */
const TWIN = (arrival: string) => `
    select
    from arrivals t
    where t.till = ${arrival}.till
      and t.transaction = ${arrival}.transaction
      and t.log_index <> ${arrival}.log_index
      and lower(t.sender) = lower(${arrival}.sender)
      and t.amount = ${arrival}.amount
      and t.state <> 'dropped'`

// A transaction may hold several transfers and pay several orders: each transfer pays one, and they are told apart by payer and amount.
const MATCH = statement<{ id: string }>(`
  with paid as (
    select distinct on (a.id) a.id, o.id as order_id
    from arrivals a
    join orders o on ${UNPAID('a')}
    where a.till = $1
      and a.state in ${OPEN}
      and not exists (${TWIN('a')})
    order by a.id, o.id
  )
  update arrivals a
  set state = 'matched',
      order_id = paid.order_id,
      reason = null,
      updated_at = now()
  from paid
  where a.id = paid.id
    and a.state in ${OPEN}
  returning a.id`)

/** Finds the order of every transfer that has none yet and is like no other of its transaction. */
export async function matchArrivals(queryable: Queryable, till: string): Promise<void> {
  await queryable.query(MATCH, [till])
}

const TWINS = statement<ArrivalRow>(`
  select a.*
  from arrivals a
  where a.till = $1
    and a.state in ${OPEN}
    and exists (select from orders o where ${UNPAID('a')})
    and exists (${TWIN('a')})
  order by a.transaction, a.log_index`)

/** Those that an order may have been paid by, and that payer and amount do not tell apart. */
export async function twinsOf(queryable: Queryable, till: string): Promise<readonly Arrival[]> {
  return (await queryable.query(TWINS, [till])).rows.map(fromArrivalRow)
}

const MATCH_NAMED = statement<{ id: string }>(`
  update arrivals a
  set state = 'matched',
      order_id = o.id,
      reason = null,
      updated_at = now()
  from payment_identities i
  join orders o on o.id = i.order_id
  where i.identity = $2
    and a.id = $1
    and a.state in ${OPEN}
    and ${UNPAID('a')}
  returning a.id`)

/** By the name that an order has claimed. False: that is no order that it could have paid. */
export async function matchNamed(
  queryable: Queryable,
  { id }: Pick<Arrival, 'id'>,
  identity: string | null,
): Promise<boolean> {
  return identity !== null && (await queryable.query(MATCH_NAMED, [id, identity])).rows.length === 1
}

const MATCH_ANY = statement<{ order_id: string }>(`
  update arrivals a
  set state = 'matched',
      order_id = (select min(o.id) from orders o where ${UNPAID('a')}),
      reason = null,
      updated_at = now()
  where a.id = $1
    and a.state in ${OPEN}
    and exists (select from orders o where ${UNPAID('a')})
  returning a.order_id`)

const CLAIM = claimFor('order_id')

/** For an order whose payment landed under another name than it was known by: what it was paid with must not buy once more. */
export async function matchUnnamed(db: Database, { id }: Pick<Arrival, 'id'>, identity: string | null): Promise<void> {
  await db
    .transaction(async (tx) => {
      const [matched] = (await tx.query(MATCH_ANY, [id])).rows
      if (!matched || identity === null) return
      if ((await tx.query(CLAIM, [identity, matched.order_id])).rows.length === 0) throw new NameTaken()
    })
    .catch((error: unknown) => {
      if (!(error instanceof NameTaken)) throw error
    })
}

/** Rolls the match back: somebody presented it a moment ago. */
class NameTaken extends Error {}
