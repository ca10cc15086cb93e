import type { Hash } from '../../base/address.ts'
import { isoTime } from '../../base/clock.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import type { ToldEvent } from '../../domain/event.ts'
import { type LandedStep, NOT_A_DELIVERY } from '../../domain/journal.ts'
import {
  type Answer,
  type Failure,
  type LeasedOrder,
  type Order,
  type OrderStatus,
  type Refund,
  transitions,
} from '../../domain/order.ts'
import type { Alongside, Database, Queryable } from '../db.ts'
import { assertWithin, type RefundBudget } from '../refund-budget.ts'
import { statement } from '../statement.ts'
import { HELD } from './held.ts'

/** A step of an order's life. What is absent stays as it is. */
export type OrderChange = {
  readonly to: OrderStatus
  readonly at: number
  readonly paymentTx?: Hash | undefined
  readonly settledAt?: number | undefined
  readonly deliveryTx?: Hash | undefined
  readonly result?: JsonObject | undefined
  readonly failure?: Failure | undefined
  readonly answer?: Answer | undefined
  readonly receipt?: string | undefined
  /** The refund as it is after this step: begun on the way to `refunding`, completed on the way to `refunded`. */
  readonly refund?: Refund | undefined
  /** Holds given back: none, all, or all but what was sold for good. */
  readonly release: 'none' | 'all' | 'unkept'
  /** True when this order needs no further work. */
  readonly isLast: boolean
  /** So many deliveries must be in the journal, no more: otherwise another replica is delivering, and the order must not be given up. */
  readonly sends?: number | undefined
  /** The transaction that delivered it: where it was mined, and where it is watched from now on. */
  readonly landed?: LandedStep | undefined
}

export type RefundChange = OrderChange & {
  readonly refund: Refund
  /** For an automatic refund; throws RefundsUsedUp when it would exceed the budget. */
  readonly budget?: RefundBudget | undefined
  /** What else is written in the same transaction: the audit entry. */
  readonly alongside?: Alongside | undefined
}

// The state, its event, the holds, the landing of what delivered it and the job move together or not at all, and only for the one who holds the lease.
const CHANGE = statement<{ sequence: number }>(`
  with held as (${HELD}
  ), changed as (
    update orders
    set status = $5,
        payment_tx = coalesce($6, payment_tx),
        settled_at = coalesce($7, settled_at),
        delivery_tx = coalesce($8, delivery_tx),
        result = coalesce($9, result),
        failure = coalesce($10, failure),
        answer_status = coalesce($11, answer_status),
        answer_headers = coalesce($12, answer_headers),
        answer_body = coalesce($13, answer_body),
        receipt = coalesce($14, receipt),
        authorization_data = null,
        in_doubt = false,
        history = history || $15::jsonb,
        sequence = sequence + 1,
        attempts = 0,
        updated_at = $20
    from held
    where id = held.key
      and status = $4
      and ($21::int is null or $21 = (
        select count(*)
        from sends s
        where s.order_id = held.key
          and s.step !~ '${NOT_A_DELIVERY.source}'))
    returning id, sequence, payer, network, funds, amount
  ), logged as (
    insert into events (subject, sequence, type, data)
    select id, sequence, $16, $17
    from changed
  ), released as (
    update holds h
    set released_at = now()
    from changed
    where h.order_id = changed.id
      and h.released_at is null
      and ($18 = 'all' or ($18 = 'unkept' and not h.kept))
    returning h.resource, h.quantity
  ), totals as (
    update hold_totals t
    set held = t.held - r.quantity,
        version = t.version + r.quantity
    from released r
    where t.resource = r.resource
    returning t.resource
  ), kept_promise as (
    -- After the holds, as when an order is opened: two that touch both never wait for each other crosswise.
    update exposures e
    set open_orders = e.open_orders - 1,
        promised = e.promised - changed.amount
    from changed
    where $4 = 'settling'
      and changed.funds = 'authorized'
      and e.payer = changed.payer
      and e.network = changed.network
      and (select count(*) from totals) >= 0
    returning e.payer
  ), landed as (
    update sends s
    set landed_hash = l.hash,
        landed_block = l."blockNumber",
        landed_block_hash = l."blockHash",
        buried = false
    from changed, jsonb_to_record($22::jsonb) as l (
      step text, "chainId" bigint, signer text, hash text, "blockNumber" bigint, "blockHash" text)
    where s.order_id = changed.id
      and s.step = l.step
      and s.chain_id = l."chainId"
      and s.signer = l.signer
      and s.versions @> jsonb_build_array(jsonb_build_object('hash', l.hash))
  ), finished as (
    delete from jobs
    using changed
    where $19
      and jobs.kind = $1
      and jobs.key = changed.id
  )
  select sequence
  from changed`)

/** Null when the lease is lost, the order has moved on or more was sent for it: another process is at work, and this result is void. */
export async function changeOrder(
  queryable: Queryable,
  { order, lease }: LeasedOrder,
  change: OrderChange,
  event: ToldEvent,
): Promise<Order | null> {
  assertAllowed(order, change)
  const step = { status: change.to, at: isoTime(change.at) }
  const { answer } = change
  const { rows } = await queryable.query(CHANGE, [
    lease.kind,
    lease.key,
    lease.lease,
    order.status,
    change.to,
    change.paymentTx,
    change.settledAt === undefined ? null : new Date(change.settledAt),
    change.deliveryTx,
    change.result && stringify(change.result),
    change.failure && stringify(change.failure),
    answer?.status,
    answer && stringify(answer.headers),
    answer?.body,
    change.receipt,
    stringify([step]),
    event.type,
    stringify(event.data),
    change.release,
    change.isLast,
    // The very time that stands in the answer, so that the status route repeats it to the millisecond.
    new Date(change.at),
    change.sends,
    change.landed && stringify(change.landed),
  ])
  const [row] = rows
  return row ? { ...changed(order, change), sequence: row.sequence } : null
}

/** The table in `domain/order.ts` is the law: a caller that asks for anything else has a bug. */
function assertAllowed({ id, status }: Order, { to, refund }: OrderChange): void {
  if (!transitions[status].includes(to)) throw new TypeError(`order ${id} is ${status} and cannot become ${to}`)
  const needsRefund = to === 'refunding' || to === 'refunded'
  if (needsRefund !== (refund !== undefined))
    throw new TypeError(`order ${id} cannot become ${to} ${needsRefund ? 'without' : 'with'} a refund`)
}

/** The order as it will be, so that its event and its answer can be written in the same statement. */
export function changed(order: Order, change: OrderChange): Order {
  const { to, at, paymentTx, settledAt } = change
  return {
    ...order,
    status: to,
    settlement: paymentTx
      ? { transaction: paymentTx, network: order.network, payer: order.payer, settledAt: settledAt ?? at }
      : order.settlement,
    deliveryTx: change.deliveryTx ?? order.deliveryTx,
    result: change.result ?? order.result,
    failure: change.failure ?? order.failure,
    refund: change.refund ?? order.refund,
    answer: change.answer ?? order.answer,
    receipt: change.receipt ?? order.receipt,
    authorization: null,
    inDoubt: false,
    attempts: 0,
    sequence: order.sequence + 1,
    history: [...order.history, { status: to, at: isoTime(at) }],
    updatedAt: at,
  }
}

const BEGIN_REFUND = statement(`
  insert into refunds (id, order_id, name, amount, recipient, reason, requested_by, asked_by_key)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`)

const COMPLETE_REFUND = statement(`
  update refunds
  set transaction = $2,
      completed_at = now()
  where order_id = $1
    and completed_at is null`)

/** The refund's own record moves in the same transaction as its order. The unique key allows one per order, ever. */
export async function changeRefund(
  db: Database,
  leased: LeasedOrder,
  change: RefundChange,
  event: ToldEvent,
): Promise<Order | null> {
  const { order } = leased
  const { refund, budget, alongside } = change
  return db.transaction(async (tx) => {
    if (budget) await assertWithin(tx, refund.amount, budget)
    const next = await changeOrder(tx, leased, change, event)
    if (next === null) return null
    if (change.to === 'refunding') {
      const { id, name, to, reason, by, key } = refund
      await tx.query(BEGIN_REFUND, [id, order.id, name, refund.amount.toString(), to, reason, by, key])
    } else {
      await tx.query(COMPLETE_REFUND, [order.id, refund.transaction])
    }
    await alongside?.(tx)
    return next
  })
}
