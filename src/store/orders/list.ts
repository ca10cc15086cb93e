import type { Place } from '../../base/cursor.ts'
import type { Order, OrderStatus } from '../../domain/order.ts'
import type { RailName } from '../../domain/rail.ts'
import type { Queryable } from '../db.ts'
import { type Statement, statement } from '../statement.ts'
import { fromOrderRow, ORDER_COLUMNS, type OrderRow } from './row.ts'

/** Which orders. What is absent does not matter. */
export type OrderSelection = {
  readonly statuses?: readonly OrderStatus[] | undefined
  readonly payer?: string | undefined
  /** Who gets it, as the request named them. */
  readonly player?: string | undefined
  readonly good?: string | undefined
  /** Which one of its kind. */
  readonly item?: string | undefined
  readonly surface?: string | undefined
  readonly rail?: string | undefined
  /** Created at this time or later, and before that one. */
  readonly since?: number | undefined
  readonly before?: number | undefined
}

export type OrderFilter = OrderSelection & {
  /** Only what comes after this order in the list. */
  readonly after?: Place | undefined
  readonly limit: number
}

export type ListedOrder = { readonly order: Order; readonly place: Place }

export type OrderTotals = {
  readonly rail: RailName
  readonly network: string
  readonly asset: string
  readonly status: OrderStatus
  readonly orders: number
  /** What was taken, and what of it went back, in atomic units. */
  readonly paid: bigint
  readonly refunded: bigint
}

const PLAYER = `coalesce(
        o.input ->> 'nickname',
        lower(o.input ->> 'address'),
        lower(o.input ->> 'payer'),
        lower(o.input ->> 'beneficiary'),
        lower(o.input ->> 'user'),
        o.input ->> 'userId')`

const ITEM = `coalesce(o.input ->> 'itemId', o.input ->> 'saleId')`

type Asked = OrderSelection & Pick<OrderFilter, 'after'>

/** What a filter says in SQL, and with which values. */
type Condition<Name extends keyof Asked> = {
  sql(...parameters: string[]): string
  values(value: NonNullable<Asked[Name]>): readonly unknown[]
}

const conditions: { readonly [Name in keyof Required<Asked>]: Condition<Name> } = {
  statuses: { sql: (list) => `o.status = any (${list}::text[])`, values: (statuses) => [statuses] },
  payer: { sql: (payer) => `lower(o.payer) = ${payer}`, values: (payer) => [payer.toLowerCase()] },
  player: { sql: (player) => `${PLAYER} = ${player}`, values: (player) => [playerName(player)] },
  item: { sql: (item) => `${ITEM} = ${item}`, values: (item) => [item] },
  good: { sql: (good) => `o.good = ${good}`, values: (good) => [good] },
  surface: { sql: (surface) => `o.surface = ${surface}`, values: (surface) => [surface] },
  rail: { sql: (rail) => `o.rail = ${rail}`, values: (rail) => [rail] },
  since: { sql: (time) => `o.created_at >= ${time}`, values: (ms) => [new Date(ms)] },
  before: { sql: (time) => `o.created_at < ${time}`, values: (ms) => [new Date(ms)] },
  after: {
    sql: (micros, id) =>
      `(o.created_at, o.id) < (timestamptz 'epoch' + ${micros}::bigint * interval '1 microsecond', ${id}::text)`,
    values: ({ micros, id }) => [micros, id],
  },
}

type Way = 'created' | 'payer' | 'player' | 'item' | 'status' | 'kind'

/**
 * Every filter has an index that gives its orders newest first. Which one is used is decided here and not by the planner, which cannot know
 * that a payer is rare. The rarest first; most orders are confirmed, so that alone narrows nothing.
 */
function wayTo({ payer, player, item, statuses, good, surface, rail }: OrderSelection): Way {
  if (payer !== undefined) return 'payer'
  if (player !== undefined) return 'player'
  if (statuses !== undefined && !statuses.includes('confirmed')) return 'status'
  if (item !== undefined) return 'item'
  if (good !== undefined || surface !== undefined || rail !== undefined) return 'kind'
  return statuses === undefined ? 'created' : 'status'
}

type Question = { readonly newest: string; readonly limit: string; readonly key: string; readonly values: unknown[] }

/** The newest orders that fit. Only what was asked stands in the text: a condition that may be none keeps the planner from its index. */
function ask(filter: OrderFilter): Question {
  const way = wayTo(filter)
  const values: unknown[] = []
  const parameters = (given: readonly unknown[]) => given.map((value) => `$${values.push(value)}`)
  const sql = new Map<keyof Asked, string>()
  for (const name of Object.keys(conditions) as (keyof Asked)[]) {
    const { sql: print, values: of } = conditions[name] as Condition<'payer'>
    const value = filter[name] as string | undefined
    if (value !== undefined) sql.set(name, print(...parameters(of(value))))
  }
  const [limit = ''] = parameters([filter.limit])
  const key = `${way} ${[...sql.keys()].join(' ')}`
  return { newest: ways[way](sql, limit), limit, key, values }
}

type Conditions = ReadonlyMap<keyof Asked, string>

const pick = (limit: string, all: readonly string[]): string => `
    select o.*
    from orders o
    where ${all.length === 0 ? 'true' : all.join('\n      and ')}
    order by o.created_at desc, o.id desc
    limit ${limit}`

const without = (sql: Conditions, ...names: (keyof Asked)[]): string[] =>
  [...sql].flatMap(([name, text]) => (names.includes(name) ? [] : [text]))

const plain = (sql: Conditions, limit: string) => pick(limit, [...sql.values()])

const ways: Readonly<Record<Way, (sql: Conditions, limit: string) => string>> = {
  created: plain,
  payer: plain,
  player: plain,
  item: plain,
  // As many of each as could be needed; the outer query merges them.
  status: (sql, limit) => `
    select each.*
    from unnest($1::text[]) as wanted (status)
    cross join lateral (${pick(limit, ['o.status = wanted.status', ...without(sql, 'statuses')])}
    ) as each`,
  kind: (sql, limit) => `
    select each.*
    from (${pairs(['good', 'surface', 'rail'].flatMap((name) => sql.get(name as keyof Asked) ?? []))}
    ) as wanted
    cross join lateral (${pick(limit, ['o.rail = wanted.rail', 'o.good = wanted.good', ...without(sql, 'good', 'surface', 'rail')])}
    ) as each`,
}

/** Every pair of rail and good that was ever sold, by as many looks at the index as there are pairs. */
function pairs(wanted: readonly string[]): string {
  return `
      with recursive pair as (
        (select rail, good, surface from orders order by rail, good limit 1)
        union all
        select next.rail, next.good, next.surface
        from pair
        cross join lateral (
          select rail, good, surface
          from orders
          where (rail, good) > (pair.rail, pair.good)
          order by rail, good
          limit 1
        ) as next
      )
      select o.rail, o.good
      from pair o
      where ${wanted.join('\n        and ')}`
}

const known = new Map<string, Statement<unknown>>()

/** There are as many texts as ways to ask, a few hundred; each is made once. */
function made<Row>(key: string, text: () => string): Statement<Row> {
  const found = known.get(key) ?? statement<unknown>(text())
  known.set(key, found)
  return found as Statement<Row>
}

type ListedRow = OrderRow & { micros: string }

/** What a list asks; tests let the server explain it. */
export function questionOf(filter: OrderFilter): {
  readonly sql: Statement<ListedRow>
  readonly values: readonly unknown[]
} {
  const { key, newest, limit, values } = ask(filter)
  const sql = made<ListedRow>(
    `list ${key}`,
    () => `
  select ${ORDER_COLUMNS}, (extract(epoch from o.created_at) * 1000000)::bigint::text as micros
  from (${newest}
  ) as o
  left join refunds r on r.order_id = o.id
  order by o.created_at desc, o.id desc
  limit ${limit}`,
  )
  return { sql, values }
}

export async function listOrders(queryable: Queryable, filter: OrderFilter): Promise<readonly ListedOrder[]> {
  const { sql, values } = questionOf(filter)
  const { rows } = await queryable.query(sql, values)
  return rows.map(({ micros, ...row }) => ({ order: fromOrderRow(row), place: { micros, id: row.id } }))
}

type TotalsRow = Omit<OrderTotals, 'paid' | 'refunded'> & { paid: string; refunded: string }

/** Of the newest so many: a sum over all there ever were would take longer every day. */
export async function sumOrders(
  queryable: Queryable,
  selection: OrderSelection,
  ordersMax: number,
): Promise<readonly OrderTotals[]> {
  const { key, newest, limit, values } = ask({ ...selection, limit: ordersMax })
  const sql = made<TotalsRow>(
    `sum ${key}`,
    () => `
  select o.rail, o.network, o.asset, o.status, count(*)::int as orders,
         coalesce(sum(o.amount) filter (where o.status not in ('settling', 'expired')), 0)::text as paid,
         coalesce(sum(o.amount) filter (where o.status = 'refunded'), 0)::text as refunded
  from (
    select o.*
    from (${newest}
    ) as o
    order by o.created_at desc, o.id desc
    limit ${limit}
  ) as o
  group by o.rail, o.network, o.asset, o.status
  order by o.rail, o.network, o.asset, o.status`,
  )
  const { rows } = await queryable.query(sql, values)
  return rows.map(({ paid, refunded, ...row }) => ({ ...row, paid: BigInt(paid), refunded: BigInt(refunded) }))
}

const OPEN_BEFORE = statement<{ count: number }>(`
  select count(*)::int as count
  from orders
  where status not in ('confirmed', 'refunded', 'expired')
    and created_at < $1`)

/** How many still move that are older. */
export async function openOrdersBefore(queryable: Queryable, time: number): Promise<number> {
  return (await queryable.query(OPEN_BEFORE, [new Date(time)])).rows[0]!.count
}

/** Wallets are found however they are spelt, names only as they are. */
function playerName(text: string): string {
  return /^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : text
}
