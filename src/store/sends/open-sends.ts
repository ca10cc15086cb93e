import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'

/** What one key has signed for orders or refunds that are not finished. */
export type OpenSends = { readonly count: number; readonly example: string | null }

// What a key has signed only that key can sign again, so it must stay until this is empty.
const OPEN = statement<OpenSends>(`
  select count(distinct s.order_id)::int as count, min(s.order_id) as example
  from sends s
  where lower(s.signer) = lower($1)
    and (exists (select from jobs j where j.key = s.order_id and j.state <> 'done')
      or exists (select from arrivals a where a.id = s.order_id and a.state = 'refunding'))`)

export async function openSendsOf(queryable: Queryable, signer: string): Promise<OpenSends> {
  return (await queryable.query(OPEN, [signer])).rows[0]!
}
