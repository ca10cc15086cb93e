import { ORDERS_PAGE_MAX, orderPage, orderQuery } from '../api/operator/order-query.ts'
import { ORDERS_CSV_HEAD, type OrderView, orderCsv, type presentTotals } from '../api/operator/order-view.ts'
import { isoTime, systemClock } from '../base/clock.ts'
import { type OrderStatus, statuses } from '../domain/order.ts'
import { orderListing } from '../service/order-desk.ts'
import { type Command, type CommandCall, operatorOptions, UsageFault } from './command.ts'
import { readShopOrStore } from './store-access.ts'
import type { Style, Terminal } from './terminal.ts'

type Page = {
  readonly orders: readonly OrderView[]
  readonly next: string | null
  readonly totals?: ReturnType<typeof presentTotals>
}

/** What the options say, by the names of the route's query. */
type Query = Readonly<Record<string, string>>

const LIMIT = 20
const FILTERS = ['status', 'payer', 'player', 'good', 'item', 'surface', 'rail', 'since', 'before', 'cursor'] as const

export const ordersCommand: Command = {
  args: '',
  about:
    'Lists purchases, newest first. Asks the running shop, or reads the store when it does not run. `--open` shows only those that\nstill move: normally none for longer than a few seconds. With --csv all that fit are printed as a table for spreadsheets.',
  options: {
    ...operatorOptions,
    open: { about: 'only purchases that are not finished' },
    status: { value: 'status', about: `only this status: ${statuses.join(', ')}` },
    payer: { value: 'wallet', about: 'only what this wallet paid' },
    player: { value: 'name', about: 'only what was bought for this nickname or wallet' },
    good: { value: 'good', about: 'only this good, such as shopItem or saleLot' },
    item: { value: 'item', about: 'only this one of its kind: an item id, a sale id' },
    surface: { value: 'surface', about: 'only this surface, such as shop or sale' },
    rail: { value: 'rail', about: 'only what was paid by this protocol' },
    since: { value: 'time', about: 'only purchases from this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z' },
    before: { value: 'time', about: 'only purchases before this time' },
    cursor: { value: 'cursor', about: 'the next page: what the page before it ended with' },
    limit: { value: 'n', about: `how many, ${LIMIT} unless told` },
    totals: { about: 'also count and sum all that fit' },
    csv: { about: 'print all that fit as comma-separated values' },
  },
  examples: [
    ['sutler orders list --open', 'is anything stuck?'],
    ['sutler orders list --player Ada --since 2026-01-01', 'what did Ada buy this year?'],
    ['sutler orders list --since 2026-01-01 --before 2026-02-01 --csv > january.csv', 'for the accountant'],
    ['sutler orders list --status refunded --json', 'for a program'],
  ],
  async run(call) {
    const query = queryOf(call)
    if (call.flag('csv')) return printTable(call, query)
    const page = await readPage(call, query)
    return { json: { ...page }, text: listText(page, call.terminal) }
  },
}

/** Page by page, each printed before the next is asked for: there may be a million. */
async function printTable(call: CommandCall, query: Query): Promise<null> {
  await call.terminal.print(ORDERS_CSV_HEAD)
  let next: string | null = query['cursor'] ?? null
  do {
    const cursor: Query = next === null ? {} : { cursor: next }
    const page: Page = await readPage(call, { ...query, ...cursor, limit: String(ORDERS_PAGE_MAX) })
    await call.terminal.print(page.orders.map(orderCsv).join(''))
    next = page.next
  } while (next !== null)
  return null
}

function readPage(call: CommandCall, query: Query): Promise<Page> {
  return readShopOrStore<Page>(
    call,
    (client) => client.get<Page>(`/operator/orders?${new URLSearchParams(query)}`),
    (database) => orderPage(orderListing({ database, clock: systemClock }), orderQuery.parse(query)),
  )
}

function queryOf(call: CommandCall): Query {
  const given = FILTERS.flatMap((name) => {
    const value = call.option(name)
    return value === undefined ? [] : [[name, name === 'since' || name === 'before' ? timeOf(value) : value]]
  })
  statusOf(call.option('status'))
  return {
    ...Object.fromEntries(given),
    ...(call.flag('open') ? { open: 'true' } : {}),
    ...(call.flag('totals') ? { totals: 'true' } : {}),
    limit: String(limitOf(call.option('limit'))),
  }
}

function statusOf(text: string | undefined): void {
  if (text === undefined || statuses.includes(text as OrderStatus)) return
  throw new UsageFault(`${text} is not a status; there are ${statuses.join(', ')}`, 'orders list')
}

function timeOf(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${text}T00:00:00Z`
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)) return text
  throw new UsageFault(`${text} is not a time, such as 2026-01-31 or 2026-01-31T12:00:00Z`, 'orders list')
}

function limitOf(text = String(LIMIT)): number {
  if (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= ORDERS_PAGE_MAX) return Number(text)
  throw new UsageFault(`a limit is 1 to ${ORDERS_PAGE_MAX}`, 'orders list')
}

function listText({ orders, next, totals }: Page, { style, table }: Terminal): string {
  if (orders.length === 0) return 'there are no such orders'
  const today = isoTime(systemClock.now()).slice(0, 10)
  const rows = orders.map((order) => [
    order.createdAt.startsWith(today) ? order.createdAt.slice(11, 16) : order.createdAt.slice(5, 10),
    order.orderId,
    painted(order.status, style),
    short(bought(order), 10),
    short(order.player ?? '', 9),
    order.amount,
  ])
  return [
    table([['UTC', 'ORDER', 'STATUS', 'BOUGHT', 'PLAYER', 'PAID'].map(style.dim), ...rows]),
    ...(totals ? ['', totalsText(totals)] : []),
    ...(next === null ? [] : ['', style.dim(`more: --cursor ${next}`)]),
  ].join('\n')
}

function totalsText({ orders, isWhole, byCurrency }: ReturnType<typeof presentTotals>): string {
  const sums = byCurrency.map(
    ({ network, currency, orders, paid, refunded, net }) =>
      `  ${currency} on ${network}: ${orders} orders, ${paid} paid, ${refunded} sent back, ${net} left`,
  )
  return [isWhole ? `${orders} orders` : `the newest ${orders} orders`, ...sums].join('\n')
}

function bought({ good, item, quantity }: OrderView): string {
  const what = item ?? good
  return quantity === 1 ? what : `${quantity} ${what}`
}

/** A line of 80 columns holds them all; the whole is in `orders show`. */
function short(text: string, length: number): string {
  const letters = [...text]
  if (letters.length <= length) return text
  return text.startsWith('0x') ? `${text.slice(0, 4)}…${text.slice(-4)}` : `${letters.slice(0, length - 1).join('')}…`
}

export function painted(status: OrderStatus, style: Style): string {
  if (status === 'confirmed') return style.green(status)
  return status === 'failed' ? style.red(status) : style.yellow(status)
}
