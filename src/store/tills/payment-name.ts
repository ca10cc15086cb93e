import type { Database, Transaction } from '../db.ts'
import { NOT_REFUSED } from '../refusals.ts'
import { statement } from '../statement.ts'

const takeFor = (owner: 'arrival_id' | 'order_id') =>
  statement<{ identity: string }>(`
  insert into payment_identities (identity, handle, ${owner})
  values ($1, regexp_replace($1, '^.*/', ''), $2)
  on conflict (identity) do update
  set ${owner} = excluded.${owner},
      ${NOT_REFUSED}
  where payment_identities.order_id is null
    and payment_identities.arrival_id is null
  returning identity`)

const TAKE = { arrival: takeFor('arrival_id'), order: takeFor('order_id') }

/** An order or arrival has it already: the change is rolled back. */
class NameTaken extends Error {}

/** Takes the name of a payment for an order or arrival, if it is free. Only inside `unlessNameTaken`. */
export async function takeName(
  tx: Transaction,
  identity: string,
  owner: { readonly kind: 'arrival' | 'order'; readonly id: string },
): Promise<void> {
  if ((await tx.query(TAKE[owner.kind], [identity, owner.id])).rows.length === 0) throw new NameTaken()
}

/** The whole change; or nothing, and null, when a name that it takes was taken a moment ago: then the payer presented the payment after all. */
export function unlessNameTaken<Changed>(
  db: Database,
  change: (tx: Transaction) => Promise<Changed>,
): Promise<Changed | null> {
  return db.transaction(change).catch((error: unknown) => {
    if (error instanceof NameTaken) return null
    throw error
  })
}
