import type { Place } from '../../base/cursor.ts'
import type { RailName } from '../../domain/rail.ts'
import type { Arrival, ArrivalState } from '../../domain/till.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'
import { type ArrivalRow, fromArrivalRow } from './arrivals.ts'
import { tillIdOfRow } from './till-id.ts'

/** An arrival with its rail and currency, as far as the store alone knows them: null for a till of no configuration on record. */
export type FoundArrival = {
  readonly arrival: Arrival
  readonly rail: RailName | null
  readonly currency: string | null
  readonly place: Place
}

export type ArrivalFilter = {
  readonly states: readonly ArrivalState[]
  readonly rail?: string | undefined
  readonly after?: Place | undefined
  readonly limit: number
}

type FoundRow = ArrivalRow & { rail: RailName | null; currency: string | null; micros: string }

const COLUMNS = `a.*, t.rail, t.currency, (extract(epoch from a.found_at) * 1000000)::bigint::text as micros`
const TERMS = `
  left join lateral (
    select rail, currency
    from shop_terms
    where ${tillIdOfRow('shop_terms')} = a.till
    order by last_used desc
    limit 1
  ) as t on true`

/** As many of each state as could be needed, by the index of that state; then the newest of all. */
const list = (only: string) => `
  select ${COLUMNS}
  from (
    select each.*
    from unnest($1::text[]) as wanted (state)
    cross join lateral (
      select *
      from arrivals
      where state = wanted.state
        and (found_at, id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::text)${only}
      order by found_at desc, id desc
      limit $4
    ) as each
  ) as a
  ${TERMS}
  order by a.found_at desc, a.id desc
  limit $4`

const LIST = statement<FoundRow>(list(''))
const LIST_OF_RAIL = statement<FoundRow>(
  list(`
        and till in (select ${tillIdOfRow('shop_terms')} from shop_terms where rail = $5)`),
)

/** After every moment there is, and still a number that a timestamp can be made of. */
const END: Place = { micros: '9000000000000000', id: '' }

export async function listFound(queryable: Queryable, filter: ArrivalFilter): Promise<readonly FoundArrival[]> {
  const { states, rail, after = END, limit } = filter
  const values = [states, after.micros, after.id, limit]
  const { rows } =
    rail === undefined ? await queryable.query(LIST, values) : await queryable.query(LIST_OF_RAIL, [...values, rail])
  return rows.map(found)
}

const BY_REFERENCE = statement<FoundRow>(`
  with named as (
    select id from arrivals where id = $1
    union
    select id from arrivals where transaction = lower($1)
    union
    select id from arrivals where refund_tx = lower($1)
    union
    select id from arrivals where order_id = $1 and order_id is not null and state <> 'matched'
    union
    select arrival_id from payment_identities where handle in ($1, lower($1)) and arrival_id is not null
  )
  select ${COLUMNS}
  from named n
  join arrivals a on a.id = n.id
  ${TERMS}
  where a.state <> 'own'
  order by a.found_at desc, a.id desc
  limit 20`)

/**
 * By anything that names an arrival: its id, its transaction, the transaction that sent it back, the order that had given it up, and, once its
 * name is taken, the nonce or challenge that it was paid under.
 */
export async function arrivalsBy(queryable: Queryable, reference: string): Promise<readonly FoundArrival[]> {
  return (await queryable.query(BY_REFERENCE, [reference])).rows.map(found)
}

const BY_SENDER = statement<FoundRow>(`
  select ${COLUMNS}
  from (
    select *
    from arrivals
    where lower(sender) = lower($1)
      and state not in ('matched', 'own')
    order by found_at desc
    limit $2
  ) as a
  ${TERMS}
  order by a.found_at desc, a.id desc`)

export async function arrivalsFrom(
  queryable: Queryable,
  sender: string,
  limit: number,
): Promise<readonly FoundArrival[]> {
  return (await queryable.query(BY_SENDER, [sender, limit])).rows.map(found)
}

/** The orphaned payment that a payer may be looking for: it reached the till, and no order has it. */
export async function orphanedPayment(queryable: Queryable, reference: string): Promise<Arrival | null> {
  const all = await arrivalsBy(queryable, reference)
  return all.find(({ arrival }) => arrival.state !== 'matched')?.arrival ?? null
}

function found({ rail, currency, micros, ...row }: FoundRow): FoundArrival {
  return { arrival: fromArrivalRow(row), rail, currency, place: { micros, id: row.id } }
}
