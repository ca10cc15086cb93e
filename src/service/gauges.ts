import type { Gauge, Sample } from '../base/metrics.ts'
import type { Database, DatabaseStatus } from '../store/db.ts'
import { type Figures, readFigures } from '../store/figures.ts'
import { countJobs, type JobCounts } from '../store/jobs.ts'
import { type Backlog, webhookBacklog } from '../store/webhooks.ts'
import type { WalletBalance } from './wallets.ts'

/** What all replicas share, read when somebody asks for the figures. */
export async function readGauges(
  database: Database,
  wallets: () => Promise<readonly WalletBalance[]>,
): Promise<readonly Gauge[]> {
  const [figures, jobs, backlog, balances] = await Promise.all([
    readFigures(database),
    countJobs(database),
    webhookBacklog(database),
    // Figures of the store are worth having while a chain is silent.
    wallets().catch((): readonly WalletBalance[] => []),
  ])
  return [
    ...orderGauges(figures, jobs),
    ...webhookGauges(backlog),
    ...walletGauges(balances),
    ...processGauges(database.status()),
  ]
}

function orderGauges(figures: Figures, jobs: readonly JobCounts[]): readonly Gauge[] {
  const { openOrders, unknownOutcomes, refundsOpen, strayArrivals, missingSettlements } = figures
  const orderJobs = jobs.find(({ kind }) => kind === 'order')
  return [
    gauge(
      'sutler_orders_open',
      'Orders that have not ended, by status.',
      openOrders.map(({ status, count }) => ({ labels: { status }, value: count })),
    ),
    gauge(
      'sutler_oldest_open_order_seconds',
      'Age of the oldest order that has not ended.',
      only(Math.max(0, ...openOrders.map(({ oldestSeconds }) => oldestSeconds))),
    ),
    gauge(
      'sutler_unknown_outcomes',
      'Orders of which nobody knows yet whether their payment landed.',
      only(unknownOutcomes),
    ),
    gauge('sutler_refunds_open', 'Refunds that have not reached the chain.', only(refundsOpen)),
    gauge(
      'sutler_stray_arrivals',
      'Money that came without a purchase, by state.',
      strayArrivals.map(({ state, count }) => ({ labels: { state }, value: count })),
    ),
    gauge(
      'sutler_missing_settlements',
      'Payments that the chain no longer shows, by state.',
      missingSettlements.map(({ state, count }) => ({ labels: { state }, value: count })),
    ),
    gauge(
      'sutler_worker_lag_seconds',
      'How long the oldest due order has waited for a worker.',
      only(orderJobs?.oldestDueSeconds ?? 0),
    ),
  ]
}

function webhookGauges(backlog: readonly Backlog[]): readonly Gauge[] {
  return [
    gauge(
      'sutler_webhook_pending',
      'Messages that an endpoint has not received yet.',
      backlog.map(({ endpointId, pending }) => ({ labels: { endpoint: endpointId }, value: pending })),
    ),
    gauge(
      'sutler_webhook_dead',
      'Messages that were given up.',
      backlog.map(({ endpointId, dead }) => ({ labels: { endpoint: endpointId }, value: dead })),
    ),
    gauge(
      'sutler_webhook_oldest_seconds',
      'Age of the oldest message that was not received yet.',
      backlog.map(({ endpointId, oldestSeconds }) => ({ labels: { endpoint: endpointId }, value: oldestSeconds })),
    ),
  ]
}

function walletGauges(balances: readonly WalletBalance[]): readonly Gauge[] {
  return [
    gauge(
      'sutler_wallet_balance',
      'What our wallets hold, in wei or in atomic units of the token.',
      balances.map(({ role, chainId, address, unit, amount }) => ({
        labels: { role, chain: String(chainId), address, unit },
        value: Number(amount),
      })),
    ),
    gauge(
      'sutler_wallet_low',
      '1 when a wallet is below its alarm.',
      balances.map(({ role, chainId, unit, isLow }) => ({
        labels: { role, chain: String(chainId), unit },
        value: isLow ? 1 : 0,
      })),
    ),
  ]
}

function processGauges({ connections, idle, waiting }: DatabaseStatus): readonly Gauge[] {
  return [
    gauge('sutler_store_connections', 'Connections to the store.', [
      { labels: { state: 'idle' }, value: idle },
      { labels: { state: 'busy' }, value: connections - idle },
      { labels: { state: 'awaited' }, value: waiting },
    ]),
    gauge('process_resident_memory_bytes', 'Memory of this process.', only(process.memoryUsage.rss())),
  ]
}

function only(value: number): readonly Sample[] {
  return [{ labels: {}, value }]
}

function gauge(name: string, help: string, samples: readonly Sample[]): Gauge {
  return { name, help, samples }
}
