import type { RailName } from '../../domain/rail.ts'
import type { Queryable } from '../db.ts'
import { type Statement, statement } from '../statement.ts'

// What orders came to, kept while they move: `order_moves` is written with each change of state, and added to the sums a moment later, each
// move once. Reading a year of sums reads some thousand rows, however many orders there were.

/** What happened within one time, on one rail: counts of orders that entered each state, and what came in and went back. */
export type OrderSum = {
  readonly rail: RailName
  readonly network: string
  readonly asset: string
  readonly opened: number
  readonly settled: number
  readonly gross: bigint
  readonly delivered: number
  readonly failed: number
  readonly expired: number
  readonly refunded: number
  readonly returned: bigint
}

const BATCH = 2_000

const counted = (status: string) => `count(*) filter (where status = '${status}')`
const summed = (status: string) => `coalesce(sum(amount) filter (where status = '${status}'), 0)`

// Rows are written in the order of their keys, so that replicas which add at once wait for each other instead of locking each other out.
const FOLD = statement<{ folded: number }>(`
  with picked as materialized (
    select id
    from order_moves
    order by id
    limit ${BATCH}
    for update skip locked
  ), taken as (
    delete from order_moves m
    using picked
    where m.id = picked.id
    returning m.*
  ), spread as (
    select s.span, date_trunc(s.unit, moved_at, 'UTC') as at, rail, network, asset, surface, good,
           case s.span when 'item' then item else '' end as item, status, amount
    from taken
    cross join (values ('hour', 'hour'), ('day', 'day'), ('item', 'day')) as s (span, unit)
  ), added as (
    insert into order_sums (span, at, rail, network, asset, surface, good, item,
                            opened, settled, gross, delivered, failed, expired, refunded, returned)
    select span, at, rail, network, asset, surface, good, item,
           ${counted('settling')}, ${counted('settled')}, ${summed('settled')}, ${counted('confirmed')},
           ${counted('failed')}, ${counted('expired')}, ${counted('refunded')}, ${summed('refunded')}
    from spread
    group by span, at, rail, network, asset, surface, good, item
    order by span, at, rail, network, asset, surface, good, item
    on conflict (span, at, rail, network, asset, surface, good, item) do update
    set opened = order_sums.opened + excluded.opened,
        settled = order_sums.settled + excluded.settled,
        gross = order_sums.gross + excluded.gross,
        delivered = order_sums.delivered + excluded.delivered,
        failed = order_sums.failed + excluded.failed,
        expired = order_sums.expired + excluded.expired,
        refunded = order_sums.refunded + excluded.refunded,
        returned = order_sums.returned + excluded.returned
  ), timed as (
    insert into delivery_times (at, rail, surface, step, orders)
    select date_trunc('hour', moved_at, 'UTC'), rail, surface, floor(4 * log(2, greatest(took_ms, 1)))::int, count(*)
    from taken
    where took_ms is not null
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (at, rail, surface, step) do update
    set orders = delivery_times.orders + excluded.orders
  )
  select count(*)::int as folded
  from taken`)

/** More moves than this are left for the next call, so that no reader waits for a backlog. */
const ROUNDS_MAX = 10

/** Adds what has moved since to the sums. Any replica may do it at any time. True: nothing was left. */
export async function addUpOrders(queryable: Queryable): Promise<boolean> {
  for (let round = 0; round < ROUNDS_MAX; round++)
    if ((await queryable.query(FOLD)).rows[0]!.folded < BATCH) return true
  return false
}

/** From one moment on and before another. */
type Period = { readonly from: number; readonly to: number }

type SumRow = { [Name in keyof OrderSum]: OrderSum[Name] extends string ? string : string }

const FIGURES = `
         sum(opened) as opened, sum(settled) as settled, sum(gross) as gross, sum(delivered) as delivered, sum(failed) as failed,
         sum(expired) as expired, sum(refunded) as refunded, sum(returned) as returned`

const grouped = <Row>(keys: string): Statement<Row> =>
  statement<Row>(`
  select ${keys}, ${FIGURES}
  from order_sums
  where span = $1
    and at >= $2
    and at < $3
    and ($4::text is null or rail = $4)
    and ($5::text is null or surface = $5)
  group by ${keys}
  order by ${keys}`)

const BY_TIME = grouped<SumRow & { at: Date }>('at, rail, network, asset')
const BY_RAIL = grouped<SumRow>('rail, network, asset')
const BY_GOOD = grouped<SumRow & SoldThing>('surface, good, item, rail, network, asset')

export type SumQuestion = Period & {
  readonly rail?: string | undefined
  readonly surface?: string | undefined
}

export type SoldThing = { readonly surface: string; readonly good: string; readonly item: string }

function values(span: 'hour' | 'day' | 'item', { from, to, rail, surface }: SumQuestion): readonly unknown[] {
  return [span, new Date(from), new Date(to), rail ?? null, surface ?? null]
}

/** By hour or by day, oldest first. */
export async function sumsByTime(
  queryable: Queryable,
  span: 'hour' | 'day',
  question: SumQuestion,
): Promise<readonly (OrderSum & { readonly at: number })[]> {
  const { rows } = await queryable.query(BY_TIME, values(span, question))
  return rows.map((row) => ({ at: row.at.getTime(), ...sumOf(row) }))
}

export async function sumsByRail(
  queryable: Queryable,
  span: 'hour' | 'day',
  question: SumQuestion,
): Promise<readonly OrderSum[]> {
  return (await queryable.query(BY_RAIL, values(span, question))).rows.map(sumOf)
}

/** Each thing that was sold. */
export async function sumsByGood(
  queryable: Queryable,
  question: SumQuestion,
): Promise<readonly (OrderSum & SoldThing)[]> {
  const { rows } = await queryable.query(BY_GOOD, values('item', question))
  return rows.map(({ surface, good, item, ...row }) => ({ surface, good, item, ...sumOf(row) }))
}

function sumOf(row: SumRow): OrderSum {
  const { rail, network, asset } = row
  return {
    rail,
    network,
    asset,
    opened: Number(row.opened),
    settled: Number(row.settled),
    gross: BigInt(row.gross),
    delivered: Number(row.delivered),
    failed: Number(row.failed),
    expired: Number(row.expired),
    refunded: Number(row.refunded),
    returned: BigInt(row.returned),
  }
}

const TIMES = statement<{ step: number; orders: string }>(`
  select step, sum(orders) as orders
  from delivery_times
  where at >= $1
    and at < $2
    and ($3::text is null or rail = $3)
    and ($4::text is null or surface = $4)
  group by step
  order by step`)

/** How long buyers waited from payment to goods: the time within which so many of a hundred had theirs, to a fifth. */
export async function deliveryTimes(
  queryable: Queryable,
  { from, to, rail, surface }: SumQuestion,
): Promise<(percent: number) => number | null> {
  const { rows } = await queryable.query(TIMES, [new Date(from), new Date(to), rail ?? null, surface ?? null])
  const all = rows.reduce((sum, { orders }) => sum + Number(orders), 0)
  return (percent) => {
    let seen = 0
    for (const { step, orders } of rows) {
      seen += Number(orders)
      if (seen >= (all * percent) / 100) return Math.round(2 ** ((step + 0.5) / 4))
    }
    return null
  }
}

const FORGET = statement(`
  delete from order_sums
  where (span, at, rail, network, asset, surface, good, item) in (
    select span, at, rail, network, asset, surface, good, item
    from order_sums
    where span = 'hour'
      and at < $1
    limit 200)`)
const FORGET_TIMES = statement(`
  delete from delivery_times
  where (at, rail, surface, step) in (select at, rail, surface, step from delivery_times where at < $1 limit 200)`)

/** Hours of long ago; their days stay for ever. */
export async function forgetHours(queryable: Queryable, before: number): Promise<void> {
  await queryable.query(FORGET, [new Date(before)])
  await queryable.query(FORGET_TIMES, [new Date(before)])
}
