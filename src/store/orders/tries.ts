import type { OrderStatus } from '../../domain/order.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'

/** Something that was tried for an order and came to nothing. The same again is counted and not repeated. */
export type Try = {
  /** What the order was when it was tried. */
  readonly status: OrderStatus
  readonly error: string
  readonly times: number
  readonly firstAt: string
  readonly lastAt: string
}

/** So many different ones are kept, the newest; and so much of what each said. */
export const TRIES_MAX = 20
const ERROR_LENGTH_MAX = 300

/** What is written down of an error. */
export function triedWords(error: string): string {
  return error.length <= ERROR_LENGTH_MAX ? error : `${error.slice(0, ERROR_LENGTH_MAX - 1)}…`
}

const NOW = `to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** For `update orders`: what was tried, and one more; the same as before when `error`, a parameter, is null. */
export function triesWith(error: string): string {
  const isSame = `tries -> -1 ->> 'error' = ${error} and tries -> -1 ->> 'status' = status`
  const again = `jsonb_build_object('times', (tries -> -1 ->> 'times')::int + 1, 'lastAt', ${NOW})`
  const fresh = `jsonb_build_array(jsonb_build_object(
          'status', status, 'error', ${error}::text, 'times', 1, 'firstAt', ${NOW}, 'lastAt', ${NOW}))`
  return `case
        when ${error}::text is null then tries
        when ${isSame} then jsonb_set(tries, '{-1}', (tries -> -1) || ${again})
        when jsonb_array_length(tries) >= ${TRIES_MAX} then (tries - 0) || ${fresh}
        else tries || ${fresh}
      end`
}

/** What an order waits for: its job, as operators see it. */
export type NextTry = {
  readonly at: number
  /** A process works on it right now, and its lease ends then. */
  readonly isRunning: boolean
}

const TRIED = statement<{ tries: Try[]; run_at: Date | null; lease: string | null }>(`
  select o.tries, j.run_at, j.lease
  from orders o
  left join jobs j
    on j.kind = 'order'
   and j.key = o.id
  where o.id = $1`)

export async function readTries(
  queryable: Queryable,
  orderId: string,
): Promise<{ readonly tries: readonly Try[]; readonly next: NextTry | null }> {
  const [row] = (await queryable.query(TRIED, [orderId])).rows
  if (!row) return { tries: [], next: null }
  const next = row.run_at && { at: row.run_at.getTime(), isRunning: row.lease !== null }
  return { tries: row.tries, next }
}
