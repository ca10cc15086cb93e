import { isoTime } from '../../base/clock.ts'
import { printCsv } from '../../base/csv.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import type { Order } from '../../domain/order.ts'
import type { OrderTotals } from '../../store/orders/list.ts'

/** As the people who run the shop see it: all that is known, but nothing that could be presented as a payment. */
export type OrderView = ReturnType<typeof presentOrder>

export function presentOrder(order: Order) {
  const { settlement } = order
  return {
    orderId: order.id,
    flowId: order.flowId,
    status: order.status,
    surface: order.surface,
    good: order.good,
    item: itemOf(order.input),
    quantity: quantityOf(order.input),
    player: playerOf(order.input),
    protocol: order.rail,
    input: order.input,
    payer: order.payer,
    network: order.network,
    amount: formatUsd(usd(order.amount)),
    payTo: order.payTo,
    paymentTx: settlement?.transaction ?? null,
    settledAt: settlement ? isoTime(settlement.settledAt) : null,
    deliveryTx: order.deliveryTx,
    attempts: order.attempts,
    isInDoubt: order.inDoubt,
    failure: order.failure && { ...order.failure },
    refund: refundView(order),
    result: order.result,
    receipt: order.receipt,
    createdAt: isoTime(order.createdAt),
    updatedAt: isoTime(order.updatedAt),
  } satisfies JsonObject
}

function refundView({ refund }: Order) {
  if (!refund) return null
  return {
    refundId: refund.id,
    amount: formatUsd(usd(refund.amount)),
    to: refund.to,
    reason: refund.reason,
    by: refund.by,
    transaction: refund.transaction,
    completedAt: refund.completedAt === null ? null : isoTime(refund.completedAt),
  }
}

const text = (value: unknown): string | null =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null

/** Which one of its kind, where the request names one. */
function itemOf({ itemId, saleId }: JsonObject): string | null {
  return text(itemId) ?? text(saleId)
}

function quantityOf({ quantity, nfts }: JsonObject): number {
  return typeof quantity === 'number' ? quantity : Array.isArray(nfts) ? nfts.length : 1
}

/** Who gets it, as the request named them: in the order in which the store's index does. */
function playerOf({ nickname, address, payer, beneficiary, user, userId }: JsonObject): string | null {
  return text(nickname) ?? text(address) ?? text(payer) ?? text(beneficiary) ?? text(user) ?? text(userId)
}

/** Amounts as money: a sum of many is no more precise than each. */
export function presentTotals(totals: readonly OrderTotals[], ordersMax: number) {
  const orders = totals.reduce((sum, one) => sum + one.orders, 0)
  return {
    orders,
    isWhole: orders < ordersMax,
    byCurrency: totals.map(({ rail, network, asset, orders, paid, refunded }) => ({
      protocol: rail,
      network,
      asset,
      orders,
      paid: formatUsd(usd(paid)),
      refunded: formatUsd(usd(refunded)),
      net: formatUsd(usd(paid - refunded)),
    })),
  } satisfies JsonObject
}

const COLUMNS: readonly (readonly [name: string, of: (order: OrderView) => string | number | null])[] = [
  ['orderId', ({ orderId }) => orderId],
  ['createdAt', ({ createdAt }) => createdAt],
  ['status', ({ status }) => status],
  ['surface', ({ surface }) => surface],
  ['good', ({ good }) => good],
  ['item', ({ item }) => item],
  ['quantity', ({ quantity }) => quantity],
  ['player', ({ player }) => player],
  ['protocol', ({ protocol }) => protocol],
  ['network', ({ network }) => network],
  ['amount', ({ amount }) => amount],
  ['payer', ({ payer }) => payer],
  ['payTo', ({ payTo }) => payTo],
  ['paymentTx', ({ paymentTx }) => paymentTx],
  ['settledAt', ({ settledAt }) => settledAt],
  ['deliveryTx', ({ deliveryTx }) => deliveryTx],
  ['failure', ({ failure }) => failure?.code ?? null],
  ['refundTx', ({ refund }) => refund?.transaction ?? null],
  ['refundedAt', ({ refund }) => refund?.completedAt ?? null],
  ['refundReason', ({ refund }) => refund?.reason ?? null],
  ['flowId', ({ flowId }) => flowId],
]

export const ORDERS_CSV_HEAD = printCsv([COLUMNS.map(([name]) => name)])

export function orderCsv(order: OrderView): string {
  return printCsv([COLUMNS.map(([, of]) => String(of(order) ?? ''))])
}
