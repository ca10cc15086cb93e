import type { EventType } from '../../domain/event.ts'
import type { Order, OrderStatus } from '../../domain/order.ts'
import type { Database } from '../db.ts'
import { type SignedSend, sendsOf } from '../sends/journal.ts'
import { statement } from '../statement.ts'
import type { DeliveryState, LoggedDelivery } from '../webhooks/deliveries.ts'
import { queueKind } from '../webhooks/endpoints.ts'
import { type OrderNote, readNotes } from './notes.ts'
import { createOrders } from './orders.ts'
import { type NextTry, readTries, type Try } from './tries.ts'

/** Everything that is written down about one order: what it is, what happened to it, what was signed for it and who was told. */
export type Timeline = {
  readonly order: Order
  readonly events: readonly TimelineEvent[]
  readonly sends: readonly SignedSend[]
  /** What came to nothing, oldest first. */
  readonly tries: readonly Try[]
  /** Null: nothing more is to be done. */
  readonly next: NextTry | null
  readonly webhooks: readonly ToldOrder[]
  /** The newest first. */
  readonly notes: readonly OrderNote[]
  readonly related: readonly RelatedOrder[]
}

/** Another purchase of the same flow, or else of the same payer. */
type RelatedOrder = Pick<Order, 'id' | 'status' | 'amount' | 'network' | 'asset' | 'createdAt'> & {
  readonly by: 'flow' | 'payer'
}

type TimelineEvent = { readonly sequence: number; readonly type: EventType; readonly at: number }

/** One event of it, to one receiver. */
type ToldOrder = Pick<LoggedDelivery, 'state' | 'attempts' | 'answers'> & {
  readonly endpointId: string
  readonly url: string
  readonly type: EventType
  readonly sequence: number
  /** When it is sent next; null when it is not. */
  readonly nextAt: number | null
}

const ROWS_MAX = 100

const EVENTS = statement<{ sequence: number; type: EventType; created_at: Date }>(`
  select sequence, type, created_at
  from events
  where subject = $1
  order by sequence
  limit ${ROWS_MAX}`)

const TOLD = statement<{
  endpoint_id: string
  url: string
  type: EventType
  sequence: number
  state: DeliveryState
  attempts: number
  answers: LoggedDelivery['answers']
  run_at: Date | null
}>(`
  select d.endpoint_id, w.url, e.type, e.sequence, d.state, d.attempts, d.answers, j.run_at
  from webhook_deliveries d
  join webhook_endpoints w on w.id = d.endpoint_id
  join events e on e.id = d.event_id
  left join jobs j
    on j.kind = '${queueKind('')}' || d.endpoint_id
   and j.key = d.subject
   and d.state = 'pending'
  where d.subject = $1
  order by d.position, d.endpoint_id
  limit ${ROWS_MAX}`)

const RELATED_MAX = 5

const RELATED = statement<{
  id: string
  by: 'flow' | 'payer'
  status: OrderStatus
  amount: string
  network: string
  asset: Order['asset']
  created_at: Date
}>(`
  with named as (
    (select id, 'flow' as by from orders where flow_id = $2 and id <> $1 order by created_at desc limit ${RELATED_MAX})
    union all
    (select id, 'payer' from orders where lower(payer) = lower($3) and id <> $1 order by created_at desc, id desc limit ${RELATED_MAX})
  )
  select o.id, min(named.by) as by, o.status, o.amount, o.network, o.asset, o.created_at
  from named
  join orders o on o.id = named.id
  group by o.id
  order by o.created_at desc, o.id desc`)

/** By anything that names an order: its id, the payment transaction, a nonce, a challenge id, an idempotency key. Of several the newest one is shown. */
export async function readTimeline(db: Database, reference: string): Promise<Timeline | null> {
  const [found] = await createOrders(db).byReference(reference)
  if (!found) return null
  const { order } = found
  const [events, sends, tried, webhooks, notes, related] = await Promise.all([
    db.query(EVENTS, [order.id]),
    sendsOf(db, order.id),
    readTries(db, order.id),
    readTold(db, order.id),
    readNotes(db, order.id),
    readRelated(db, order),
  ])
  return {
    order,
    events: events.rows.map(({ sequence, type, created_at }) => ({ sequence, type, at: created_at.getTime() })),
    sends,
    ...tried,
    webhooks,
    notes,
    related,
  }
}

async function readRelated(db: Database, { id, flowId, payer }: Order): Promise<readonly RelatedOrder[]> {
  const { rows } = await db.query(RELATED, [id, flowId, payer])
  return rows.map(({ amount, created_at, ...row }) => ({
    ...row,
    amount: BigInt(amount),
    createdAt: created_at.getTime(),
  }))
}

async function readTold(db: Database, subject: string): Promise<readonly ToldOrder[]> {
  const { rows } = await db.query(TOLD, [subject])
  return rows.map(({ endpoint_id, run_at, ...row }) => ({
    ...row,
    endpointId: endpoint_id,
    nextAt: run_at?.getTime() ?? null,
  }))
}
