import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import { printCsv } from '../../base/csv.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatSigned, formatUsd, usd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import { titleOf } from '../../domain/purchase-summary.ts'
import type { ShelfNames } from '../../store/shelf-names.ts'
import type { Currencies } from '../../store/shop-terms.ts'
import type { OrderSum, SoldThing, SumQuestion } from '../../store/sums.ts'
import type { LastReport } from '../../store/transfers/accounts.ts'
import type { KeptWallet } from '../../store/wallets.ts'
import { type OperatorRoute, operator } from './route.ts'
import { presentSum, type SumDesk } from './summary-rows.ts'
import { formatField, isTableAsked, TABLE_TYPE } from './table.ts'

type Owed = { readonly network: string; readonly asset: string; readonly amount: bigint }

type MoneyDesk = Pick<SumDesk, 'now' | 'refresh' | 'byTime' | 'byRail' | 'currencies'> & {
  byGood(question: SumQuestion): Promise<readonly (OrderSum & SoldThing)[]>
  names(things: readonly { readonly surface: string; readonly id: string }[]): Promise<ShelfNames>
  /** What the last look at each receiving account found. */
  accounts(): Promise<readonly LastReport[]>
  held(): Promise<readonly (Owed & { readonly count: number })[]>
  /** What would have to go back if nothing that is open could be delivered. */
  liabilities(): Promise<readonly Owed[]>
  wallets(): Promise<readonly KeptWallet[]>
}

const DAY_MS = 86_400_000
const DAYS = 7
const DAYS_MAX = 366
const time = z.iso.datetime().transform((text) => Date.parse(text))

const moneyQuery = z.strictObject({
  from: time.optional().describe('From the day of this moment on; a week ago unless told'),
  to: time.optional().describe('To the day of this moment, which is not among them; tomorrow unless told'),
  by: z.enum(['day', 'rail', 'good']).default('day'),
  format: formatField,
})

/** What came in and what went back, by days of UTC on which it moved, and how the books stand against the chain. */
export function moneyRows(desk: MoneyDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/money', {
      role: 'viewer',
      summary:
        'Gross, refunds and net by day, rail or good; the difference to the chain, what is held, float and liabilities',
      query: moneyQuery,
      handle: async ({ query, header }) => {
        const now = desk.now()
        const period = periodOf(query, now)
        await desk.refresh()
        const rows = await rowsBy(desk, query.by, period)
        if (isTableAsked({ query, header })) return { body: csvOf(rows), contentType: TABLE_TYPE }
        const state = await stateOf(desk)
        const asked = { by: query.by, from: isoTime(period.from), to: isoTime(period.to) }
        return { body: { ...asked, rows, ...state, asOf: isoTime(now) } }
      },
    }),
  ]
}

function periodOf({ from, to }: z.output<typeof moneyQuery>, now: number): { from: number; to: number } {
  const day = (at: number) => Math.floor(at / DAY_MS) * DAY_MS
  const end = to === undefined ? day(now) + DAY_MS : day(to)
  const begin = from === undefined ? end - DAYS * DAY_MS : day(from)
  if (begin >= end || end - begin > DAYS_MAX * DAY_MS)
    throw new Problem('invalid_request', `From is before to, by ${DAYS_MAX} days at most.`)
  return { from: begin, to: end }
}

type MoneyRow = ReturnType<typeof presentSum> & { readonly key: string; readonly title: string }

async function rowsBy(desk: MoneyDesk, by: 'day' | 'rail' | 'good', period: SumQuestion): Promise<MoneyRow[]> {
  const currencyOf = await desk.currencies()
  const row = (key: string, title: string, sum: OrderSum): MoneyRow => ({ key, title, ...presentSum(sum, currencyOf) })
  if (by === 'day')
    return (await desk.byTime('day', period)).map(({ at, ...sum }) => {
      const key = isoTime(at).slice(0, 10)
      return row(key, key, sum)
    })
  if (by === 'rail') return (await desk.byRail(period)).map((sum) => row(sum.rail, sum.rail, sum))
  const sold = await desk.byGood(period)
  const nameOf = await desk.names(sold.map(({ surface, item }) => ({ surface, id: item })))
  return sold.map(({ surface, good, item, ...sum }) => {
    const name = nameOf(surface, item)
    return row(item === '' ? good : `${good}/${item}`, titleOf({ good, item: item === '' ? null : item, name }), sum)
  })
}

async function stateOf(desk: MoneyDesk): Promise<JsonObject> {
  const [currencyOf, accounts, held, liabilities, wallets] = await Promise.all([
    desk.currencies(),
    desk.accounts(),
    desk.held(),
    desk.liabilities(),
    desk.wallets(),
  ])
  return {
    accounts: accounts.map((one) => presentAccount(one, currencyOf)),
    held: held.map(({ count, ...owed }) => ({ ...presentOwed(owed, currencyOf), count })),
    liabilities: liabilities.map((owed) => presentOwed(owed, currencyOf)),
    float: wallets
      .filter(({ role, unit }) => role === 'treasury' && unit === 'token')
      .map(({ chainId, address, amount, readAt }) => ({
        network: `eip155:${chainId}`,
        address,
        amount: formatUsd(usd(amount)),
        asOf: isoTime(readAt),
      })),
  }
}

function presentAccount({ account, difference, block, at }: LastReport, currencyOf: Currencies): JsonObject {
  const [network = '', asset = '', payTo = ''] = account.split('/')
  return {
    network,
    payTo,
    currency: currencyOf(network, asset),
    difference: formatSigned(difference),
    asOfBlock: block.toString(),
    at: isoTime(at),
  }
}

function presentOwed({ network, asset, amount }: Owed, currencyOf: Currencies) {
  return { network, currency: currencyOf(network, asset), amount: formatUsd(usd(amount)) }
}

const COLUMNS = [
  'key',
  'title',
  'protocol',
  'network',
  'currency',
  'orders',
  'gross',
  'refunds',
  'refunded',
  'net',
] as const

function csvOf(rows: readonly MoneyRow[]): string {
  return printCsv([COLUMNS, ...rows.map((row) => COLUMNS.map((name) => String(row[name])))])
}
