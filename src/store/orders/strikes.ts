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

/** A payer's points of some minutes and those of a day. They are counted apart: in one row all of them would count for as long as the longest. */
export function payerSubjects(payer: string): readonly [minutes: string, day: string] {
  return [`payer:${payer}`, `payer-today:${payer}`]
}

export type Strike = {
  /** What may have caused it: `payer:0x…`, `payer-today:0x…`, `receiver:0x…`, `code:0x…`. */
  readonly subjects: readonly string[]
  readonly points: number
  readonly seconds: number
}

/** Counts against a payer, receiver or code that made the shop spend gas for nothing, at the next order on every replica. */
export async function addStrike(queryable: Queryable, { subjects, points, seconds }: Strike): Promise<void> {
  const lower = [...new Set(subjects.map((subject) => subject.toLowerCase()))]
  if (lower.length > 0) await queryable.query(ADD, [lower, points, seconds])
}

/** Deletes strikes that count no more: strangers can fill this table. */
export async function forgetStrikes(queryable: Queryable): Promise<void> {
  await queryable.query(FORGET)
}
