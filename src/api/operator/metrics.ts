import type { Asked } from '../../base/measured-exchange.ts'
import { createMetrics, type Gauge } from '../../base/metrics.ts'
import { usdNumber } from '../../base/money.ts'
import type { ChainMeter } from '../../chain/chain-meter.ts'
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
  /** A call was turned away because an allowance was used up. */
  limited(allowance: string): void
  /** Somebody outside was asked: the game, a facilitator. */
  outside(service: string, asked: Asked): void
  readonly chain: ChainMeter
  /** Rows were deleted because they were kept long enough. */
  deleted(what: string, count: number): void
  print(gauges: readonly Gauge[]): string
}

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const CHAIN_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600]

type Listeners = {
  /** Hears of every state change in this process, after it is written. */
  onMoved(): void
  /** Counts for all replicas together who is asked to pay, and who is refused. */
  onTold(surface: string, rail: string, code: string, detail: string): void
}

export function createShopMeter({ onMoved, onTold }: Listeners): ShopMeter {
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

  const money = moneyCounters(metrics)
  const limits = metrics.counter('sutler_rate_limited_total', 'Calls that were turned away, by allowance.', [
    'allowance',
  ])
  const outside = outsideCounters(metrics)
  const deleted = metrics.counter('sutler_rows_deleted_total', 'Rows that were kept long enough, by kind.', ['kind'])

  return {
    chain: chainMeter(metrics),
    limited: limits.add,
    deleted: (what, count) => deleted.grow(count, what),
    outside,
    challenged(surface, rail, code, detail) {
      challenges.add(surface, rail, code)
      onTold(surface, rail, code, detail)
    },
    refused: onTold,
    moved(order) {
      const { surface, rail, status } = order
      orders.add(surface, rail, status)
      money(order)
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

type Metrics = ReturnType<typeof createMetrics>

/** What came in and what went back. For the eye: the books are the orders themselves. */
function moneyCounters(metrics: Metrics): (order: Order) => void {
  const labels = ['surface', 'rail']
  const revenue = metrics.counter('sutler_revenue_usd_total', 'Dollars of payments that landed.', labels)
  const refunded = metrics.counter('sutler_refunded_usd_total', 'Dollars of refunds that landed.', labels)
  return ({ status, amount, surface, rail }) => {
    if (status === 'settled') revenue.grow(usdNumber(amount), surface, rail)
    if (status === 'refunded') refunded.grow(usdNumber(amount), surface, rail)
  }
}

function outsideCounters(metrics: Metrics): ShopMeter['outside'] {
  const requests = metrics.counter(
    'sutler_outside_requests_total',
    'Questions to services outside (game, facilitator), by outcome.',
    ['service', 'outcome'],
  )
  const seconds = metrics.histogram(
    'sutler_outside_request_seconds',
    'Time that services outside take to answer.',
    ['service'],
    REQUEST_SECONDS,
  )
  return (service, { outcome, ms }) => {
    requests.add(service, outcome)
    seconds.observe(ms / 1000, service)
  }
}

const WEI_PER_COIN = 10n ** 18n
const PARTS = 1_000_000_000n

function chainMeter(metrics: Metrics): ChainMeter {
  const requests = metrics.counter(
    'sutler_rpc_requests_total',
    'Questions to RPC nodes, by place in the configuration and outcome: refused is a word of the chain, silent is none.',
    ['chain', 'node', 'outcome'],
  )
  const seconds = metrics.histogram(
    'sutler_rpc_request_seconds',
    'Time that RPC nodes take to answer.',
    ['chain', 'node'],
    REQUEST_SECONDS,
  )
  const disagreements = metrics.counter(
    'sutler_rpc_disagreements_total',
    'Payments of which two nodes had to show the same, and did not.',
    ['chain'],
  )
  const transactions = metrics.counter(
    'sutler_transactions_total',
    'Transactions of ours that were mined, by outcome: success or reverted.',
    ['chain', 'outcome'],
  )
  const gas = metrics.counter('sutler_transaction_gas_total', 'Gas that they used, by what they were for.', [
    'chain',
    'step',
  ])
  const fees = metrics.counter(
    'sutler_transaction_fees_coins_total',
    'What they cost in coins of the chain (10^18 of its smallest unit), by what they were for.',
    ['chain', 'step'],
  )
  return {
    asked({ chainId, node, outcome, ms }) {
      disagreements.begin(chainId)
      transactions.begin(chainId, 'reverted')
      requests.add(chainId, node, outcome)
      seconds.observe(ms / 1000, chainId, node)
    },
    disagreed: disagreements.add,
    mined(chainId, step, { succeeded, gasUsed, gasPrice }) {
      const purpose = /^[a-z]*/.exec(step)![0]
      transactions.add(chainId, succeeded ? 'success' : 'reverted')
      gas.grow(Number(gasUsed), chainId, purpose)
      fees.grow(Number((gasUsed * gasPrice * PARTS) / WEI_PER_COIN) / Number(PARTS), chainId, purpose)
    },
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
