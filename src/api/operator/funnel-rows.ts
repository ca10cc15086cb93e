import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import type { FunnelCount } from '../../store/funnel.ts'
import { type OperatorRoute, operator } from './route.ts'
import { funnelSteps, periodOf, type SumDesk, windowField, windows } from './summary-rows.ts'

const name = z.string().min(1).max(64)

/** Who was asked to pay and what came of it, over all replicas. */
export function funnelRows(desk: SumDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/funnel', {
      role: 'viewer',
      summary: 'From the first 402 to the goods, and every refusal by its code, over time',
      query: z.strictObject({ window: windowField, surface: name.optional(), rail: name.optional() }),
      handle: async ({ query: { window, surface, rail } }) => {
        const { span, stepMs, steps } = windows[window]
        const now = desk.now()
        const question = { ...periodOf(windows[window], now), surface, rail }
        await desk.refresh()
        const [sums, counts] = await Promise.all([desk.byTime(span, question), desk.funnel(span, question)])
        const times = Array.from({ length: steps }, (_, index) => question.from + index * stepMs)
        return {
          body: {
            window,
            at: times.map(isoTime),
            steps: funnelSteps(sums, counts),
            refusals: refusalSeries(counts, times),
            asOf: isoTime(now),
          },
        }
      },
    }),
  ]
}

/** The most frequent first; `series` has a count for each of `times`. */
function refusalSeries(counts: readonly FunnelCount[], times: readonly number[]): JsonObject[] {
  const byCode = Map.groupBy(
    counts.filter(({ isRefusal }) => isRefusal),
    ({ code }) => code,
  )
  return [...byCode]
    .map(([code, rows]) => {
      const at = new Map(rows.map((row) => [row.at, row.count]))
      const series = times.map((time) => at.get(time) ?? 0)
      const example = rows.findLast((row) => row.example !== null)?.example ?? null
      return { code, count: series.reduce((sum, count) => sum + count, 0), series, example }
    })
    .toSorted((a, b) => b.count - a.count)
}
