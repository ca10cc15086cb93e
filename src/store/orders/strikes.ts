import { stringify } from '../../base/json.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'

/** So many points, and nothing is taken from the subject until they are forgotten. */
export const STRIKE_POINTS_MAX = 3

/** Counts against a payer, receiver or code that made the shop spend gas for nothing, at the next order on every replica. */
export type Strike = {
  /** What may have caused it: `payer:0x…`, `payer-today:0x…`, `receiver:0x…`, `code:0x…`. */
  readonly subject: string
  readonly points: number
  readonly seconds: number
}

/** A payer's points of some minutes and those of a day. They are counted apart: in one row all of them would count for as long as the longest. */
export function payerSubjects(payer: string): readonly [minutes: string, day: string] {
  return [`payer:${payer}`, `payer-today:${payer}`]
}

/** A part of the statement that ends what they are for: counted by themselves, they would count again each time that the rest is tried again. */
export function struckBy(strikes: string): string {
  return `
    insert into strikes (subject, points, until)
    select s.subject, s.points, now() + make_interval(secs => s.seconds)
    from jsonb_to_recordset(${strikes}::jsonb) as s (subject text, points int, seconds int)
    where exists (select from changed)
      and (select count(*) from kept_promise) >= 0
    order by s.subject
    on conflict (subject) do update
    set points = case when strikes.until > now() then strikes.points else 0 end + excluded.points,
        until = greatest(strikes.until, excluded.until)`
}

/** Each subject once: one statement counts none twice. */
export function strikeValues(strikes: readonly Strike[]): string {
  const lower = strikes.map((strike) => ({ ...strike, subject: strike.subject.toLowerCase() }))
  return stringify([...new Map(lower.map((strike) => [strike.subject, strike])).values()])
}

// In the order in which they are counted, and without those that are being counted: whoever waits here would be waited for.
const FORGET = statement(`
  delete from strikes
  where subject in (
    select subject
    from strikes
    where until < now()
    order by subject
    for update skip locked)`)

/** Deletes strikes that count no more: strangers can fill this table. */
export async function forgetStrikes(queryable: Queryable): Promise<void> {
  await queryable.query(FORGET)
}
