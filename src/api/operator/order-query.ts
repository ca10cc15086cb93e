import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import { cursorOf, placeOf } from '../../base/cursor.ts'
import { isFinal, type Order, statuses } from '../../domain/order.ts'
import type { ListedOrder, OrderFilter, OrderSelection, OrderTotals } from '../../store/orders/list.ts'
import type { Naming } from '../../store/orders/naming.ts'
import { listedOrder, ORDERS_CSV_HEAD, orderCsv, presentTotals } from './order-view.ts'
import { formatField } from './table.ts'

const LIMIT = 50
export const ORDERS_PAGE_MAX = 500
/** Totals are of so many orders at most. */
const TOTALS_ORDERS_MAX = 10_000

const name = z.string().min(1).max(128)

export const orderQuery = z.strictObject({
  status: z.enum(statuses as [Order['status'], ...Order['status'][]]).optional(),
  open: z.enum(['true', 'false']).optional().describe('true: only those that still move'),
  payer: name.optional().describe('The wallet that paid'),
  player: name.optional().describe('Who gets it, as the request named them: a nickname, or a wallet'),
  good: name.optional(),
  item: name.optional().describe('Which one of its kind: an item id, a sale id'),
  surface: name.optional(),
  rail: name.optional(),
  since: z.iso.datetime().optional().describe('Only those created at this time or later'),
  before: z.iso.datetime().optional().describe('Only those created earlier'),
  cursor: z.string().min(1).max(200).optional().describe('`next` of the page before'),
  limit: z.coerce.number().int().min(1).max(ORDERS_PAGE_MAX).default(LIMIT),
  totals: z.enum(['true', 'false']).optional().describe(`true: count and sum, of the newest ${TOTALS_ORDERS_MAX}`),
  format: formatField,
})

type OrderQuery = z.output<typeof orderQuery>

/** The listing of purchases, as far as it is only read. */
export type OrderListing = {
  list(filter: OrderFilter): Promise<readonly ListedOrder[]>
  sum(selection: OrderSelection, ordersMax: number): Promise<readonly OrderTotals[]>
  /** How many still move that are older. */
  openBefore(time: number): Promise<number>
  naming(orders: readonly Order[]): Promise<Naming>
  now(): number
}

export async function orderPage(listing: OrderListing, query: OrderQuery) {
  const { limit } = query
  const selection = selectionOf(query)
  const after = query.cursor === undefined ? undefined : placeOf(query.cursor)
  const asOf = isoTime(listing.now())
  // One more than is shown tells whether there is a next page.
  const [found, totals, openBefore] = await Promise.all([
    listing.list({ ...selection, after, limit: limit + 1 }),
    query.totals === 'true' ? listing.sum(selection, TOTALS_ORDERS_MAX) : null,
    selection.since === undefined || query.totals !== 'true' ? null : listing.openBefore(selection.since),
  ])
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  const naming = await listing.naming(shown.map(({ order }) => order))
  return {
    orders: shown.map(({ order }) => listedOrder(order, naming)),
    next: found.length > limit && last ? cursorOf(last.place) : null,
    asOf,
    ...(totals ? { totals: { ...presentTotals(totals, TOTALS_ORDERS_MAX, naming.currencyOf), openBefore } } : {}),
  }
}

/** Page by page, so that neither the store nor the process ever holds more than one. What is wrong is said before the table begins. */
export async function orderTable(listing: OrderListing, query: OrderQuery): Promise<AsyncIterable<string>> {
  const selection = selectionOf(query)
  const pageAfter = (after: OrderFilter['after']) => listing.list({ ...selection, after, limit: ORDERS_PAGE_MAX })
  const first = await pageAfter(query.cursor === undefined ? undefined : placeOf(query.cursor))
  return tableOf(listing, first, pageAfter)
}

async function* tableOf(
  { naming }: OrderListing,
  first: readonly ListedOrder[],
  pageAfter: (after: OrderFilter['after']) => Promise<readonly ListedOrder[]>,
): AsyncGenerator<string> {
  yield ORDERS_CSV_HEAD
  for (let page = first; ; page = await pageAfter(page.at(-1)?.place)) {
    const names = await naming(page.map(({ order }) => order))
    if (page.length > 0) yield page.map(({ order }) => orderCsv(listedOrder(order, names))).join('')
    if (page.length < ORDERS_PAGE_MAX) return
  }
}

function selectionOf(query: OrderQuery): OrderSelection {
  const { status, open, payer, player, good, item, surface, rail, since, before } = query
  const wanted = status ? [status] : open === 'true' ? statuses.filter((status) => !isFinal(status)) : undefined
  const time = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text))
  return { statuses: wanted, payer, player, good, item, surface, rail, since: time(since), before: time(before) }
}
