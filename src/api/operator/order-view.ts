import { isoTime } from '../../base/clock.ts'
import { printCsv } from '../../base/csv.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import type { Order, OrderStatus } from '../../domain/order.ts'
import { itemOf, playerOf, quantityOf, titleOf } from '../../domain/purchase-summary.ts'
import type { OrderTotals } from '../../store/orders/list.ts'
import type { Naming } from '../../store/orders/naming.ts'
import type { Currencies } from '../../store/shop-terms.ts'

/** A line of a list: all but the largest members. */
export type OrderView = ReturnType<typeof listedOrder>

/** As the people who run the shop see it: all that is known, but nothing that could be presented as a payment. */
export function presentOrder(order: Order, naming: Naming) {
  const { result, receipt } = order
  return { ...listedOrder(order, naming), result, receipt } satisfies JsonObject
}

export function listedOrder(order: Order, { currencyOf, nameOf }: Naming) {
  const { settlement, surface, good, input } = order
  const item = itemOf(input)
  return {
    orderId: order.id,
    flowId: order.flowId,
    status: order.status,
    surface,
    good,
    item,
    title: titleOf({ good, item, name: item === null ? null : nameOf(surface, item) }),
    quantity: quantityOf(input),
    player: playerOf(input),
    protocol: order.rail,
    input,
    payer: order.payer,
    network: order.network,
    amount: formatUsd(usd(order.amount)),
    currency: currencyOf(order.network, order.asset),
    payTo: order.payTo,
    paymentTx: settlement?.transaction ?? null,
    settledAt: settlement ? isoTime(settlement.settledAt) : null,
    deliveryTx: order.deliveryTx,
    attempts: order.attempts,
    isInDoubt: order.inDoubt,
    failure: order.failure && { ...order.failure },
    refund: refundView(order),
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

/** Amounts as money: a sum of many is no more precise than each. Currencies are never added to each other. */
export function presentTotals(totals: readonly OrderTotals[], ordersMax: number, currencyOf: Currencies) {
  const orders = totals.reduce((sum, one) => sum + one.orders, 0)
  const byStatus: Partial<Record<OrderStatus, number>> = {}
  for (const { status, orders: count } of totals) byStatus[status] = (byStatus[status] ?? 0) + count
  const byCurrency = Map.groupBy(totals, ({ rail, network, asset }) => `${rail} ${network} ${asset}`)
  return {
    orders,
    isWhole: orders < ordersMax,
    byStatus,
    byCurrency: [...byCurrency.values()].map((rows) => {
      const { rail, network, asset } = rows[0]!
      const sum = (of: (row: OrderTotals) => bigint) => rows.reduce((all, row) => all + of(row), 0n)
      const [paid, refunded] = [sum((row) => row.paid), sum((row) => row.refunded)]
      return {
        protocol: rail,
        network,
        asset,
        currency: currencyOf(network, asset),
        orders: rows.reduce((all, row) => all + row.orders, 0),
        paid: formatUsd(usd(paid)),
        refunded: formatUsd(usd(refunded)),
        net: formatUsd(usd(paid - refunded)),
      }
    }),
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
  ['currency', ({ currency }) => currency],
  ['title', ({ title }) => title],
]

export const ORDERS_CSV_HEAD = printCsv([COLUMNS.map(([name]) => name)])

export function orderCsv(order: OrderView): string {
  return printCsv([COLUMNS.map(([, of]) => String(of(order) ?? ''))])
}
