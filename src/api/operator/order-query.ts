import * as z from 'zod'
import { cursorOf, placeOf } from '../../base/cursor.ts'
import { isFinal, type Order, statuses } from '../../domain/order.ts'
import type { ListedOrder, OrderFilter, OrderSelection } from '../../store/orders/list.ts'
import { ORDERS_CSV_HEAD, orderCsv, presentOrder, presentTotals } from './order-view.ts'

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
  surface: name.optional(),
  rail: name.optional(),
  since: z.iso.datetime().optional().describe('Only those created at this time or later'),
  before: z.iso.datetime().optional().describe('Only those created earlier'),
  cursor: z.string().min(1).max(200).optional().describe('`next` of the page before'),
  limit: z.coerce.number().int().min(1).max(ORDERS_PAGE_MAX).default(LIMIT),
  totals: z.enum(['true', 'false']).optional().describe(`true: count and sum, of the newest ${TOTALS_ORDERS_MAX}`),
  format: z.enum(['json', 'csv']).optional().describe('csv: all of them as a table; the same as Accept: text/csv'),
})

type OrderQuery = z.output<typeof orderQuery>

/** The book of purchases, as far as it is only read. */
export type OrderBook = {
  list(filter: OrderFilter): Promise<readonly ListedOrder[]>
  sum(selection: OrderSelection, ordersMax: number): Promise<Parameters<typeof presentTotals>[0]>
}

export async function orderPage(book: OrderBook, query: OrderQuery) {
  const { limit } = query
  const selection = selectionOf(query)
  const after = query.cursor === undefined ? undefined : placeOf(query.cursor)
  // One more than is shown tells whether there is a next page.
  const [found, totals] = await Promise.all([
    book.list({ ...selection, after, limit: limit + 1 }),
    query.totals === 'true' ? book.sum(selection, TOTALS_ORDERS_MAX) : null,
  ])
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  return {
    orders: shown.map(({ order }) => presentOrder(order)),
    next: found.length > limit && last ? cursorOf(last.place) : null,
    ...(totals ? { totals: presentTotals(totals, TOTALS_ORDERS_MAX) } : {}),
  }
}

/** Page by page, so that neither the store nor the process ever holds more than one. What is wrong is said before the table begins. */
export async function orderTable({ list }: OrderBook, query: OrderQuery): Promise<AsyncIterable<string>> {
  const selection = selectionOf(query)
  const pageAfter = (after: OrderFilter['after']) => list({ ...selection, after, limit: ORDERS_PAGE_MAX })
  const first = await pageAfter(query.cursor === undefined ? undefined : placeOf(query.cursor))
  return tableOf(first, pageAfter)
}

async function* tableOf(
  first: readonly ListedOrder[],
  pageAfter: (after: OrderFilter['after']) => Promise<readonly ListedOrder[]>,
): AsyncGenerator<string> {
  yield ORDERS_CSV_HEAD
  for (let page = first; ; page = await pageAfter(page.at(-1)?.place)) {
    if (page.length > 0) yield page.map(({ order }) => orderCsv(presentOrder(order))).join('')
    if (page.length < ORDERS_PAGE_MAX) return
  }
}

function selectionOf({ status, open, payer, player, good, surface, rail, since, before }: OrderQuery): OrderSelection {
  const wanted = status ? [status] : open === 'true' ? statuses.filter((status) => !isFinal(status)) : undefined
  const time = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text))
  return { statuses: wanted, payer, player, good, surface, rail, since: time(since), before: time(before) }
}
