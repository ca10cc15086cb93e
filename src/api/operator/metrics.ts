import { createMetrics, type Gauge } from '../../base/metrics.ts'
import type { Meter } from '../../checkout/checkout.ts'
import type { Order } from '../../domain/order.ts'

/** What a request came to, for the figures. */
export type AnsweredRequest = {
  readonly method: string
  /** The row of the table, not the address that was asked: there are few of these. */
  readonly route: string
  readonly status: number
  readonly ms: number
}

/** Everything this process counts. What all replicas share is read from the store when somebody asks. */
export type ShopMeter = Meter & {
  answered(request: AnsweredRequest): void
  webhook(outcome: 'delivered' | 'failed' | 'dead', ms: number): void
  print(gauges: readonly Gauge[]): string
}

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const CHAIN_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600]

/** `onMoved` hears of every state change in this process, after it is written. */
export function createShopMeter(onMoved: () => void): ShopMeter {
  const metrics = createMetrics()
  const requests = metrics.histogram(
    'sutler_http_request_seconds',
    'Time to answer, by route.',
    ['method', 'route', 'status'],
    REQUEST_SECONDS,
  )
  const challenges = metrics.counter('sutler_challenges_total', 'Requests that were asked to pay (402), by reason.', [
    'surface',
    'rail',
    'code',
  ])
  const orders = metrics.counter(
    'sutler_orders_total',
    'Orders that entered a status: settling is paid for, confirmed is delivered.',
    ['surface', 'rail', 'status'],
  )
  const settlements = metrics.histogram(
    'sutler_settlement_seconds',
    'From order to money on the chain.',
    ['rail'],
    CHAIN_SECONDS,
  )
  const deliveries = metrics.histogram('sutler_delivery_seconds', 'From money to goods.', ['surface'], CHAIN_SECONDS)
  const webhooks = metrics.counter('sutler_webhook_attempts_total', 'Webhook messages sent, by outcome.', ['outcome'])
  const webhookSeconds = metrics.histogram(
    'sutler_webhook_seconds',
    'Time receivers take to answer.',
    [],
    REQUEST_SECONDS,
  )

  return {
    challenged: challenges.add,
    moved(order) {
      const { surface, rail, status } = order
      orders.add(surface, rail, status)
      const { settled, delivered } = durations(order)
      if (settled !== null) settlements.observe(settled, rail)
      if (delivered !== null) deliveries.observe(delivered, surface)
      onMoved()
    },
    answered({ method, route, status, ms }) {
      requests.observe(ms / 1000, method, route, status)
    },
    webhook(outcome, ms) {
      webhooks.add(outcome)
      webhookSeconds.observe(ms / 1000)
    },
    print: (gauges) => metrics.print(gauges),
  }
}

/** Seconds, each only at the step that ends it. */
function durations({ status, settlement, createdAt, updatedAt }: Order): {
  settled: number | null
  delivered: number | null
} {
  if (settlement === null) return { settled: null, delivered: null }
  return {
    settled: status === 'settled' ? Math.max(0, settlement.settledAt - createdAt) / 1000 : null,
    delivered: status === 'confirmed' ? Math.max(0, updatedAt - settlement.settledAt) / 1000 : null,
  }
}
