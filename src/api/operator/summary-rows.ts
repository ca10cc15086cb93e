import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatSigned, formatUsd, usd } from '../../base/money.ts'
import type { FunnelCount } from '../../store/funnel.ts'
import type { Currencies } from '../../store/shop-terms.ts'
import type { OrderSum, SumQuestion } from '../../store/sums.ts'
import { type OperatorRoute, operator } from './route.ts'

export type SumDesk = {
  now(): number
  /** Adds what has happened since to what is kept. */
  refresh(): Promise<void>
  byTime(span: 'hour' | 'day', question: SumQuestion): Promise<readonly (OrderSum & { readonly at: number })[]>
  byRail(question: SumQuestion): Promise<readonly OrderSum[]>
  times(question: SumQuestion): Promise<{ readonly p50: number | null; readonly p95: number | null }>
  funnel(span: 'hour' | 'day', question: SumQuestion): Promise<readonly FunnelCount[]>
  currencies(): Promise<Currencies>
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** How far back, in how many steps of which length. The last step is not over. */
export const windows = {
  '24h': { span: 'hour', stepMs: HOUR, steps: 24 },
  '7d': { span: 'day', stepMs: DAY, steps: 7 },
  '30d': { span: 'day', stepMs: DAY, steps: 30 },
} as const

export const windowField = z.enum(['24h', '7d', '30d']).default('24h')

type Window = (typeof windows)[keyof typeof windows]

export function periodOf({ stepMs, steps }: Window, now: number): { readonly from: number; readonly to: number } {
  const last = Math.floor(now / stepMs) * stepMs
  return { from: last - (steps - 1) * stepMs, to: last + stepMs }
}

/** The figures of the first page, over all replicas. Sums are of one currency each; hours and days are those of UTC. */
export function summaryRows(desk: SumDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/summary', {
      role: 'viewer',
      summary: 'What came in, what went back, how fast, and how many of those who were asked have paid',
      query: z.strictObject({ window: windowField }),
      handle: async ({ query }) => ({ body: await summarize(desk, query.window) }),
    }),
  ]
}

async function summarize(desk: SumDesk, name: keyof typeof windows): Promise<JsonObject> {
  const window = windows[name]
  const now = desk.now()
  await desk.refresh()
  const { from, to } = periodOf(window, now)
  const earlier = { from: from - (to - from), to: from }
  const [steps, before, times, counts, currencyOf] = await Promise.all([
    desk.byTime(window.span, { from, to }),
    desk.byRail(earlier),
    desk.times({ from, to }),
    desk.funnel(window.span, { from, to }),
    desk.currencies(),
  ])
  const byStep = Map.groupBy(steps, ({ at }) => at)
  const buckets = Array.from({ length: window.steps }, (_, index) => {
    const at = from + index * window.stepMs
    const sums = byStep.get(at) ?? []
    return {
      at: isoTime(at),
      isOver: at + window.stepMs <= now,
      orders: total(sums, ({ settled }) => settled),
      rails: sums.map((sum) => presentSum(sum, currencyOf)),
    }
  })
  return {
    window: name,
    [window.span === 'hour' ? 'hours' : 'days']: buckets,
    totals: currencyTotals(steps, before, currencyOf),
    delivery: { p50Ms: times.p50, p95Ms: times.p95 },
    funnel: funnelSteps(steps, counts),
    refusals: refusalsOf(counts),
    asOf: isoTime(now),
  }
}

function total(sums: readonly OrderSum[], of: (sum: OrderSum) => number): number {
  return sums.reduce((all, sum) => all + of(sum), 0)
}

/** One sum, as money. */
export function presentSum(sum: OrderSum, currencyOf: Currencies) {
  const { rail, network, asset, settled, delivered, refunded, gross, returned } = sum
  return {
    protocol: rail,
    network,
    currency: currencyOf(network, asset),
    orders: settled,
    delivered,
    refunds: refunded,
    gross: formatUsd(usd(gross)),
    refunded: formatUsd(usd(returned)),
    net: formatSigned(gross - returned),
  } satisfies JsonObject
}

/** All sums of one rail and asset as one. */
function mergedSums(sums: readonly OrderSum[]): readonly OrderSum[] {
  const groups = Map.groupBy(sums, ({ rail, network, asset }) => `${rail} ${network} ${asset}`)
  return [...groups.values()].map((group) => {
    const count = (of: (sum: OrderSum) => number) => total(group, of)
    const money = (of: (sum: OrderSum) => bigint) => group.reduce((all, sum) => all + of(sum), 0n)
    return {
      ...group[0]!,
      opened: count(({ opened }) => opened),
      settled: count(({ settled }) => settled),
      gross: money(({ gross }) => gross),
      delivered: count(({ delivered }) => delivered),
      refunded: count(({ refunded }) => refunded),
      returned: money(({ returned }) => returned),
    }
  })
}

function currencyTotals(steps: readonly OrderSum[], before: readonly OrderSum[], currencyOf: Currencies): JsonObject[] {
  return mergedSums(steps).map((sum) => {
    const was = before.find((one) => one.rail === sum.rail && one.network === sum.network && one.asset === sum.asset)
    return {
      ...presentSum(sum, currencyOf),
      change: { gross: growth(was?.gross, sum.gross), orders: growth(was?.settled, sum.settled) },
    }
  })
}

/** By which part it grew since the time before; null where there was nothing before. */
function growth(before: bigint | number | undefined, now: bigint | number): number | null {
  if (!before) return null
  return Math.round((Number(now) / Number(before) - 1) * 1000) / 1000
}

/** Asked to pay; paid; money here; goods there. Whoever sends a good payment with the first call was never asked. */
export function funnelSteps(sums: readonly OrderSum[], counts: readonly FunnelCount[]): JsonObject[] {
  const asked = counts.filter(({ isRefusal }) => !isRefusal).reduce((all, { count }) => all + count, 0)
  return [
    { step: 'asked', count: asked },
    { step: 'paid', count: total(sums, ({ opened }) => opened) },
    { step: 'settled', count: total(sums, ({ settled }) => settled) },
    { step: 'delivered', count: total(sums, ({ delivered }) => delivered) },
    { step: 'refunded', count: total(sums, ({ refunded }) => refunded) },
  ]
}

function refusalsOf(counts: readonly FunnelCount[]): JsonObject[] {
  const byCode = Map.groupBy(
    counts.filter(({ isRefusal }) => isRefusal),
    ({ code }) => code,
  )
  return [...byCode]
    .map(([code, rows]) => ({ code, count: rows.reduce((all, { count }) => all + count, 0) }))
    .toSorted((a, b) => b.count - a.count)
}
