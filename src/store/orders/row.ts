import type { Address, Hash } from '../../base/address.ts'
import type { JsonObject } from '../../base/json.ts'
import type { GoodName, SurfaceName } from '../../domain/good.ts'
import type { Failure, Order, OrderStatus, Refund } from '../../domain/order.ts'
import type { Funds, RailName } from '../../domain/rail.ts'

/** An order as the database returns it, with its refund beside it. */
export type OrderRow = {
  id: string
  flow_id: string
  surface: SurfaceName
  good: GoodName
  rail: RailName
  status: OrderStatus
  funds: Funds
  request_digest: string
  input: JsonObject
  plan: JsonObject | null
  objection: Failure | null
  payer: Address
  amount: string
  asset: Address
  network: string
  pay_to: Address
  proof_digest: string
  idempotency_key: string | null
  authorization_data: JsonObject | null
  expires_at: Date
  in_doubt: boolean
  payment_tx: Hash | null
  settled_at: Date | null
  delivery_tx: Hash | null
  result: JsonObject | null
  failure: Failure | null
  refund_held: boolean
  answer_status: number | null
  answer_headers: Record<string, string> | null
  answer_body: string | null
  receipt: string | null
  attempts: number
  sequence: number
  history: { status: OrderStatus; at: string }[]
  created_at: Date
  updated_at: Date
  refund: RefundJson | null
}

type RefundJson = {
  id: string
  amount: string
  recipient: Address
  name: string
  reason: string
  requested_by: string
  asked_by_key: string | null
  transaction: Hash | null
  created_at: string
  completed_at: string | null
}

/** What a query on `orders o left join refunds r` selects to fill an `OrderRow`. Amounts leave as text: JSON numbers would round them. */
export const ORDER_COLUMNS = `
    o.*,
    case when r.id is null then null else jsonb_build_object(
      'id', r.id, 'amount', r.amount::text, 'recipient', r.recipient, 'name', r.name, 'reason', r.reason, 'requested_by', r.requested_by,
      'asked_by_key', r.asked_by_key,
      'transaction', r.transaction, 'created_at', r.created_at, 'completed_at', r.completed_at) end as refund`

export function fromOrderRow(row: OrderRow): Order {
  return {
    id: row.id,
    flowId: row.flow_id,
    surface: row.surface,
    good: row.good,
    rail: row.rail,
    status: row.status,
    funds: row.funds,
    requestDigest: row.request_digest,
    input: row.input,
    plan: row.plan,
    objection: row.objection,
    payer: row.payer,
    amount: BigInt(row.amount),
    asset: row.asset,
    network: row.network,
    payTo: row.pay_to,
    proofDigest: row.proof_digest,
    idempotencyKey: row.idempotency_key,
    authorization: row.authorization_data,
    expiresAt: row.expires_at.getTime(),
    inDoubt: row.in_doubt,
    settlement:
      row.payment_tx === null || row.settled_at === null
        ? null
        : { transaction: row.payment_tx, network: row.network, payer: row.payer, settledAt: row.settled_at.getTime() },
    deliveryTx: row.delivery_tx,
    result: row.result,
    failure: row.failure,
    refundHeld: row.refund_held,
    refund: row.refund && fromRefundJson(row.refund),
    answer:
      row.answer_status === null || row.answer_body === null
        ? null
        : { status: row.answer_status, headers: row.answer_headers ?? {}, body: row.answer_body },
    receipt: row.receipt,
    attempts: row.attempts,
    sequence: row.sequence,
    history: row.history,
    createdAt: row.created_at.getTime(),
    updatedAt: row.updated_at.getTime(),
  }
}

function fromRefundJson(refund: RefundJson): Refund {
  return {
    id: refund.id,
    amount: BigInt(refund.amount),
    to: refund.recipient,
    name: refund.name,
    reason: refund.reason,
    by: refund.requested_by,
    key: refund.asked_by_key,
    transaction: refund.transaction,
    createdAt: Date.parse(refund.created_at),
    completedAt: refund.completed_at === null ? null : Date.parse(refund.completed_at),
  }
}
