import type { EventType } from '../../domain/event.ts'
import type { Send } from '../../domain/journal.ts'
import type { Order } from '../../domain/order.ts'
import type { Database } from '../db.ts'
import { sendsOf } from '../sends/journal.ts'
import { statement } from '../statement.ts'
import { createOrders } from './orders.ts'

/** Everything that is written down about one order: what it is, what happened to it, and what was signed for it. */
export type Timeline = {
  readonly order: Order
  readonly events: readonly TimelineEvent[]
  readonly sends: readonly Send[]
}

type TimelineEvent = { readonly sequence: number; readonly type: EventType; readonly at: number }

const EVENTS = statement<{ sequence: number; type: EventType; created_at: Date }>(`
  select sequence, type, created_at
  from events
  where subject = $1
  order by sequence
  limit 100`)

/** By anything that names an order: its id, the payment transaction, a nonce, a challenge id, an idempotency key. The newest one counts. */
export async function readTimeline(db: Database, reference: string): Promise<Timeline | null> {
  const [found] = await createOrders(db).byReference(reference)
  if (!found) return null
  const { order } = found
  const [events, sends] = await Promise.all([db.query(EVENTS, [order.id]), sendsOf(db, order.id)])
  return {
    order,
    events: events.rows.map(({ sequence, type, created_at }) => ({ sequence, type, at: created_at.getTime() })),
    sends,
  }
}
