import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'

/** What one key has signed for orders or refunds that are not finished. */
type OpenSends = { readonly count: number; readonly example: string | null }

const HAS_SENDS = statement<{ has_sends: boolean }>(`
  select to_regclass('sends') is not null as has_sends`)

// Whatever is not finished has a job. What a key has signed only that key can sign again, so it must stay until this is empty. A treasury signs what another
// key sends, and stands in it.
const OPEN = statement<OpenSends>(`
  select count(distinct s.order_id)::int as count, min(s.order_id) as example
  from sends s
  where (lower(s.signer) = lower($1) or s.call ->> 'data' like '%' || lower(substr($1, 3)) || '%')
    and (exists (select from jobs j where j.key = s.order_id)
      or exists (select from refunds r where r.transfer_id = s.order_id and r.completed_at is null))`)

export async function openSendsOf(queryable: Queryable, signer: string): Promise<OpenSends> {
  // A database that no shop has started on has nothing of anybody's.
  const { has_sends } = (await queryable.query(HAS_SENDS)).rows[0]!
  return has_sends ? (await queryable.query(OPEN, [signer])).rows[0]! : { count: 0, example: null }
}
