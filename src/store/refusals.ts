import type { ProblemCode } from '../base/problem.ts'
import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

/** A name that an order or transfer takes is no longer that of a refusal. */
export const NOT_REFUSED = 'refusal = null, refused_for = null, refused_at = null'

/** No honest payer shows one payment for so many requests. */
const REQUESTS_MAX = 20

// It waits for a request that opens an order with this payment at this moment; then that order counts. The name is stored for as long as a request
// may be working with the payment, and each insert deletes some old ones. Replicas that sell on different networks list the names of a payment in
// different orders; a statement that writes several sorts them, or two would wait for each other.
const REFUSE = statement<{ is_void: boolean }>(`
  with forgotten as (
    delete from payment_identities
    where identity in (
      select identity
      from payment_identities
      where refused_at < now() - interval '1 hour'
        and identity <> all ($1::text[])
      order by refused_at
      limit 20
      for update skip locked)
  )
  insert into payment_identities (identity, handle, refusal, refused_for, refused_at)
  select identity, regexp_replace(identity, '^.*/', ''), $2, array[$3::text], now()
  from unnest($1::text[]) as identity
  order by identity
  on conflict (identity) do update
  set refused_for = case
        when $3 = any (payment_identities.refused_for) or cardinality(payment_identities.refused_for) >= ${REQUESTS_MAX}
        then payment_identities.refused_for
        else payment_identities.refused_for || excluded.refused_for
      end
  where payment_identities.refused_at is not null
  returning $3 = any (refused_for) as is_void`)

export type Refusal = {
  readonly identities: readonly string[]
  /** Digest of what was signed and of the request that it was shown for. */
  readonly shownForDigest: string
  readonly code: ProblemCode
}

/** False where there is no room for one more, so that it must not be called refused. What was taken meanwhile is not asked here. */
export async function refusePayment(db: Queryable, { identities, shownForDigest, code }: Refusal): Promise<boolean> {
  const { rows } = await db.query(REFUSE, [identities, code, shownForDigest])
  return rows.every(({ is_void }) => is_void)
}
