import { isoTime } from '../base/clock.ts'
import { stringify } from '../base/json.ts'
import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

/** What this replica told somebody, and how often. */
export type FunnelHits = {
  readonly at: number
  readonly surface: string
  readonly rail: string
  readonly code: string
  readonly count: number
  /** What one of them was told. */
  readonly example: string | null
}

/** How often callers were told this within an hour or a day. */
export type FunnelCount = Pick<FunnelHits, 'at' | 'code' | 'count' | 'example'> & {
  /** False for `payment_required`: the answer to a call that brought no payment. */
  readonly isRefusal: boolean
}

const ASKED = 'payment_required'

const ADD = statement(`
  insert into funnel_counts (at, surface, rail, code, asked, example)
  select date_trunc('hour', at, 'UTC'), surface, rail, code, sum(count), max(example)
  from jsonb_to_recordset($1::jsonb) as h (at timestamptz, surface text, rail text, code text, count bigint, example text)
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (at, surface, rail, code) do update
  set asked = funnel_counts.asked + excluded.asked,
      example = coalesce(excluded.example, funnel_counts.example)`)

/** Adds what one replica has counted. */
export async function addFunnel(queryable: Queryable, hits: readonly FunnelHits[]): Promise<void> {
  if (hits.length === 0) return
  const rows = hits.map(({ at, ...hit }) => ({ ...hit, at: isoTime(at) }))
  await queryable.query(ADD, [stringify(rows)])
}

const READ = statement<{ at: Date; code: string; count: string; example: string | null }>(`
  select date_trunc($3, at, 'UTC') as at, code, sum(asked) as count, max(example) as example
  from funnel_counts
  where at >= $1
    and at < $2
    and ($4::text is null or rail = $4)
    and ($5::text is null or surface = $5)
  group by 1, 2
  order by 1, 2`)

type FunnelQuestion = {
  readonly from: number
  readonly to: number
  readonly rail?: string | undefined
  readonly surface?: string | undefined
}

export async function readFunnel(
  queryable: Queryable,
  span: 'hour' | 'day',
  { from, to, rail, surface }: FunnelQuestion,
): Promise<readonly FunnelCount[]> {
  const { rows } = await queryable.query(READ, [new Date(from), new Date(to), span, rail ?? null, surface ?? null])
  return rows.map(({ at, count, ...row }) => ({
    ...row,
    at: at.getTime(),
    count: Number(count),
    isRefusal: row.code !== ASKED,
  }))
}
