import { filterOf, presentOrder, presentTimeline } from '../api/operator/order-rows.ts'
import type { JsonObject } from '../base/json.ts'
import { type OrderStatus, statuses } from '../domain/order.ts'
import { rails } from '../rails/rails.ts'
import { createOrders } from '../store/orders/orders.ts'
import { readTimeline } from '../store/orders/timeline.ts'
import { type Command, operatorOptions, Refusal, UsageFault } from './command.ts'
import { operatorClient } from './shop-client.ts'
import { readShopOrStore } from './store-access.ts'
import type { Style, Terminal } from './terminal.ts'

/** What the operator's routes tell of an order. */
type OrderView = JsonObject & {
  readonly orderId: string
  readonly status: OrderStatus
  readonly surface: string
  readonly good: string
  readonly protocol: string
  readonly network: string
  readonly amount: string
  readonly payer: string
  readonly paymentTx: string | null
  readonly deliveryTx: string | null
  readonly attempts: number
  readonly failure: { readonly code: string; readonly detail: string } | null
  readonly refund: { readonly reason: string; readonly by: string; readonly transaction: string | null } | null
  readonly createdAt: string
}

type TimelineView = JsonObject & {
  readonly order: OrderView
  readonly events: readonly { readonly type: string; readonly at: string }[]
  readonly sends: readonly {
    readonly step: string
    readonly chainId: number
    readonly nonce: number
    readonly signer: string
    readonly transactions: readonly { readonly hash: string; readonly isVoid: boolean }[]
  }[]
}

const LIMIT = 20

export const listOrders: Command = {
  args: '',
  about:
    'Lists purchases, newest first. Asks the running shop, or reads the store when it does not run. `--open` shows only those that\nstill move: normally none for longer than a few seconds.',
  options: {
    ...operatorOptions,
    open: { about: 'only purchases that are not finished' },
    status: { value: 'status', about: `only this status: ${statuses.join(', ')}` },
    before: { value: 'time', about: 'only purchases before this time, such as 2026-01-31T12:00:00Z: the next page' },
    limit: { value: 'n', about: `how many, ${LIMIT} unless told` },
  },
  examples: [
    ['sutler orders list --open', 'is anything stuck?'],
    ['sutler orders list --status refunded --json', 'for a program'],
  ],
  async run(call) {
    const query = {
      status: statusOf(call.option('status')),
      open: call.flag('open') ? ('true' as const) : undefined,
      before: timeOf(call.option('before')),
      limit: limitOf(call.option('limit')),
    }
    const search = new URLSearchParams(
      Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
    )
    const orders = await readShopOrStore(
      call,
      async (client) => (await client.get<{ orders: OrderView[] }>(`/operator/orders?${search}`)).orders,
      async (database) => (await createOrders(database).list(filterOf(query))).map(presentOrder) as OrderView[],
    )
    return { json: { orders }, text: listText(orders, call.terminal) }
  },
}

export const showOrder: Command = {
  args: '<order>',
  about: `Shows one purchase: what was asked, what was paid, every event, and every transaction that was signed for it. <order> may be the\norder id, the payment transaction, ${rails.map(({ reference }) => `the ${reference}`).join(', ')} or the idempotency key.`,
  options: operatorOptions,
  examples: [['sutler orders show ord_4w5k…', 'the whole story of one purchase']],
  async run(call) {
    const [reference = ''] = call.args
    const timeline = await readShopOrStore(
      call,
      (client) => client.get<TimelineView>(`/operator/orders/${encodeURIComponent(reference)}`),
      async (database) => {
        const found = await readTimeline(database, reference)
        if (!found) throw new Refusal('order_not_found', `there is no order ${reference}`)
        return presentTimeline(found) as TimelineView
      },
    )
    return { json: timeline, text: timelineText(timeline, call.terminal) }
  },
}

export const retryOrder: Command = {
  args: '<order>',
  about:
    'Goes on with an unfinished purchase now instead of at its next turn. Open purchases are tried again by themselves, at growing\nintervals; use this when what was in the way is mended. It never pays or delivers twice.',
  options: operatorOptions,
  examples: [['sutler orders retry ord_4w5k…', 'the game is back; deliver now']],
  async run(call) {
    const [reference = ''] = call.args
    const path = `/operator/orders/${encodeURIComponent(reference)}/retry`
    const answer = await operatorClient(call).post<{ orderId: string; status: OrderStatus; isDue: boolean }>(path)
    const { orderId, status, isDue } = answer
    const isFinished = ['confirmed', 'refunded', 'expired'].includes(status)
    const why = isFinished ? `it is ${status}, and nothing is left to do` : 'it is being worked on right now'
    return {
      json: { ...answer },
      text: isDue ? `${orderId} is ${status}, and is taken up now` : `${orderId}: ${why}`,
      isGood: isDue || !isFinished,
    }
  },
}

function statusOf(text: string | undefined): OrderStatus | undefined {
  if (text === undefined || statuses.includes(text as OrderStatus)) return text as OrderStatus | undefined
  throw new UsageFault(`${text} is not a status; there are ${statuses.join(', ')}`, 'orders list')
}

function timeOf(text: string | undefined): string | undefined {
  if (text === undefined || /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)) return text
  throw new UsageFault(`${text} is not a time, such as 2026-01-31T12:00:00Z`, 'orders list')
}

function limitOf(text = String(LIMIT)): number {
  if (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= 500) return Number(text)
  throw new UsageFault('a limit is 1 to 500', 'orders list')
}

function listText(orders: readonly OrderView[], { style, table }: Terminal): string {
  if (orders.length === 0) return 'no such purchase'
  return table([
    ['ORDER', 'STATUS', 'GOOD', 'PAID', 'PAYER', 'CREATED'].map(style.dim),
    ...orders.map(({ orderId, status, good, protocol, amount, payer, createdAt }) => [
      orderId,
      painted(status, style),
      good,
      `${amount} by ${protocol}`,
      payer,
      createdAt,
    ]),
  ])
}

function timelineText({ order, events, sends }: TimelineView, { style, table }: Terminal): string {
  const { failure, refund } = order
  const facts: [string, string][] = [
    ['bought', `${order.good} (${order.surface}): ${JSON.stringify(order['input'])}`],
    ['paid', `${order.amount} by ${order.protocol} on ${order.network}, from ${order.payer}`],
    ['payment', order.paymentTx ?? 'not on the chain yet'],
    ...(order.deliveryTx ? [['delivery', order.deliveryTx] as [string, string]] : []),
    ...(order.attempts > 0 ? [['attempts', String(order.attempts)] as [string, string]] : []),
    ...(failure ? [['failure', `${failure.code}: ${failure.detail}`] as [string, string]] : []),
    ...(refund
      ? [['refund', `${refund.transaction ?? 'on its way'}, by ${refund.by}: ${refund.reason}`] as [string, string]]
      : []),
  ]
  const began = Date.parse(events[0]?.at ?? order.createdAt)
  return [
    `${style.bold(order.orderId)}  ${painted(order.status, style)}`,
    table(facts.map(([what, value]) => [`  ${style.dim(what)}`, value])),
    '',
    style.bold('What happened'),
    table(events.map(({ type, at }) => [`  ${at}`, style.dim(`+${elapsed(Date.parse(at) - began)}`), type])),
    '',
    style.bold('What was signed'),
    sends.length === 0
      ? '  nothing by the shop itself'
      : table(
          sends.flatMap(({ step, chainId, nonce, transactions }) =>
            transactions.map(({ hash, isVoid }) => [
              `  ${isVoid ? `${step} (void)` : step}`,
              `chain ${chainId}`,
              `nonce ${nonce}`,
              hash,
            ]),
          ),
        ),
  ].join('\n')
}

function elapsed(ms: number): string {
  return ms < 10_000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`
}

function painted(status: OrderStatus, style: Style): string {
  if (status === 'confirmed') return style.green(status)
  return status === 'failed' ? style.red(status) : style.yellow(status)
}
