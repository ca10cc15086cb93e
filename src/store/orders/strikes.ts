import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'

/** So many points, and nothing is taken from the subject until they are forgotten. */
export const STRIKE_POINTS_MAX = 3

const ADD = statement(`
  insert into strikes (subject, points, until)
  select subject, $2::int, now() + make_interval(secs => $3)
  from unnest($1::text[]) as subject
  order by subject
  on conflict (subject) do update
  set points = case when strikes.until > now() then strikes.points else 0 end + excluded.points,
      until = greatest(strikes.until, excluded.until)`)

const FORGET = statement(`
  delete from strikes
  where until < now()`)

export type Strike = {
  /** Whose doing it was: `payer:0x…`, `receiver:0x…`, `code:0x…`. */
  readonly subjects: readonly string[]
  readonly points: number
  readonly seconds: number
}

/** Somebody made us spend for nothing. Held against them at the next order, by all replicas. */
export async function addStrike(queryable: Queryable, { subjects, points, seconds }: Strike): Promise<void> {
  const lower = [...new Set(subjects.map((subject) => subject.toLowerCase()))]
  if (lower.length > 0) await queryable.query(ADD, [lower, points, seconds])
}

/** Those that count no more: a table that anybody can fill is emptied by somebody. */
export async function forgetStrikes(queryable: Queryable): Promise<void> {
  await queryable.query(FORGET)
}
