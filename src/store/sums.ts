import type { RailName } from '../domain/rail.ts'
import type { Queryable } from './db.ts'
import { type Statement, statement } from './statement.ts'

// What orders came to, by hour (UTC) and thing sold. Every change of an order has one event, so the sums are made of the log of events, each
// event once; `event_tail.summed` says how far. Reading a year of sums reads some ten thousand rows, however many orders there were.

/** What happened within one time, on one rail: counts of orders that entered each state, and what came in and went back. */
export type OrderSum = {
  readonly rail: RailName
  readonly network: string
  readonly asset: string
  readonly opened: number
  readonly settled: number
  readonly gross: bigint
  readonly delivered: number
  readonly refunded: number
  readonly returned: bigint
}

const BATCH = 2_000

const counted = (types: string) => `count(*) filter (where e.type in (${types}))`
const summed = (type: string) => `coalesce(sum(o.amount) filter (where e.type = '${type}'), 0)`

// Of two replicas that add at once, the second finds the end moved when it gets the lock, and adds nothing. As where events are placed, the
// disk is not waited for: a crash takes sums and end together, and the same events are added again.
const FOLD = statement<{ folded: string }>(`
  with tail as materialized (
    select summed, least(position, summed + ${BATCH}) as through
    from event_tail
    where summed = (select summed from event_tail)
      and summed < position
    for update
  ), added as (
    insert into order_sums (at, rail, network, asset, surface, good, item, opened, settled, gross, delivered, refunded, returned)
    select date_trunc('hour', e.created_at, 'UTC'), o.rail, o.network, o.asset, o.surface, o.good,
           coalesce(o.input ->> 'itemId', o.input ->> 'saleId', ''),
           ${counted(`'order.created', 'craft.action.created'`)}, ${counted(`'payment.settled'`)}, ${summed('payment.settled')},
           ${counted(`'order.confirmed', 'craft.action.confirmed'`)}, ${counted(`'refund.completed'`)}, ${summed('refund.completed')}
    from tail
    join events e
      on e.position > tail.summed
     and e.position <= tail.through
    join orders o on o.id = e.subject
    group by 1, 2, 3, 4, 5, 6, 7
    on conflict (at, rail, network, asset, surface, good, item) do update
    set opened = order_sums.opened + excluded.opened,
        settled = order_sums.settled + excluded.settled,
        gross = order_sums.gross + excluded.gross,
        delivered = order_sums.delivered + excluded.delivered,
        refunded = order_sums.refunded + excluded.refunded,
        returned = order_sums.returned + excluded.returned
  ), moved as (
    update event_tail
    set summed = tail.through
    from tail
    returning tail.through - tail.summed as folded
  )
  select coalesce(max(folded), 0) as folded, set_config('synchronous_commit', 'off', true)
  from moved`)

/** More events than this are left for the next call, so that no reader waits for a backlog. */
const ROUNDS_MAX = 10

/** Adds what has been logged since to the sums. Any replica may do it at any time. */
export async function addUpOrders(queryable: Queryable): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++)
    if (Number((await queryable.query(FOLD)).rows[0]!.folded) < BATCH) return
}

export type SumQuestion = {
  readonly from: number
  /** Not among them. */
  readonly to: number
  readonly rail?: string | undefined
  readonly surface?: string | undefined
}

export type SoldThing = { readonly surface: string; readonly good: string; readonly item: string }

type SumRow = { [Name in keyof OrderSum]: string }

const FIGURES = `
         sum(opened) as opened, sum(settled) as settled, sum(gross) as gross, sum(delivered) as delivered, sum(refunded) as refunded,
         sum(returned) as returned`

const grouped = <Row>(keys: string, names: string): Statement<Row> =>
  statement<Row>(`
  select ${keys}, ${FIGURES}
  from order_sums
  where at >= $1
    and at < $2
    and ($3::text is null or rail = $3)
    and ($4::text is null or surface = $4)
  group by ${names}
  order by ${names}`)

const byTime = (span: 'hour' | 'day') =>
  grouped<SumRow & { start: Date }>(
    `date_trunc('${span}', at, 'UTC') as start, rail, network, asset`,
    'start, rail, network, asset',
  )
const BY_TIME = { hour: byTime('hour'), day: byTime('day') }
const BY_RAIL = grouped<SumRow>('rail, network, asset', 'rail, network, asset')
const THING = 'surface, good, item, rail, network, asset'
const BY_GOOD = grouped<SumRow & SoldThing>(THING, THING)

function values({ from, to, rail, surface }: SumQuestion): readonly unknown[] {
  return [new Date(from), new Date(to), rail ?? null, surface ?? null]
}

/** By hour or by day, oldest first. */
export async function sumsByTime(
  queryable: Queryable,
  span: 'hour' | 'day',
  question: SumQuestion,
): Promise<readonly (OrderSum & { readonly at: number })[]> {
  const { rows } = await queryable.query(BY_TIME[span], values(question))
  return rows.map(({ start, ...row }) => ({ at: start.getTime(), ...sumOf(row) }))
}

export async function sumsByRail(queryable: Queryable, question: SumQuestion): Promise<readonly OrderSum[]> {
  return (await queryable.query(BY_RAIL, values(question))).rows.map(sumOf)
}

/** Each thing that was sold. */
export async function sumsByGood(
  queryable: Queryable,
  question: SumQuestion,
): Promise<readonly (OrderSum & SoldThing)[]> {
  const { rows } = await queryable.query(BY_GOOD, values(question))
  return rows.map(({ surface, good, item, ...row }) => ({ surface, good, item, ...sumOf(row) }))
}

function sumOf(row: SumRow): OrderSum {
  return {
    rail: row.rail as RailName,
    network: row.network,
    asset: row.asset,
    opened: Number(row.opened),
    settled: Number(row.settled),
    gross: BigInt(row.gross),
    delivered: Number(row.delivered),
    refunded: Number(row.refunded),
    returned: BigInt(row.returned),
  }
}

// Of the newest deliveries alone: a month of a busy shop is not read for one figure.
const TIMES = statement<{ p50: number | null; p95: number | null }>(`
  select percentile_disc(0.5) within group (order by took) as p50, percentile_disc(0.95) within group (order by took) as p95
  from (
    select greatest(1, extract(epoch from e.created_at - o.created_at) * 1000)::int as took
    from unnest(array['order.confirmed', 'craft.action.confirmed']) as t (type)
    cross join lateral (
      select subject, created_at
      from events
      where type = t.type
        and position is not null
      order by position desc
      limit 5000) as e
    join orders o on o.id = e.subject
    where e.created_at >= $1
      and e.created_at < $2
  ) as delivered`)

/** How long buyers waited from payment to goods. */
export async function deliveryTimes(
  queryable: Queryable,
  { from, to }: Pick<SumQuestion, 'from' | 'to'>,
): Promise<{ readonly p50: number | null; readonly p95: number | null }> {
  return (await queryable.query(TIMES, [new Date(from), new Date(to)])).rows[0]!
}
