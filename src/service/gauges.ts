import type { Health } from '../api/operator/health-rows.ts'
import type { Gauge } from '../base/metrics.ts'
import { usdNumber } from '../base/money.ts'
import { troubleKinds } from '../domain/trouble.ts'
import type { Database } from '../store/db.ts'
import { type Figures, readFigures } from '../store/figures.ts'
import { oldestDueSeconds } from '../store/jobs.ts'
import { type WebhookBacklog, webhookBacklog } from '../store/webhooks/deliveries.ts'
import { gauge, healthGauges, type LiveChain, nodeGauges, only, processGauges } from './live-gauges.ts'
import type { OpenRail } from './rails.ts'
import type { WalletBalance } from './wallets.ts'

type GaugeParts = {
  readonly database: Database
  readonly chains: readonly LiveChain[]
  readonly rails: readonly OpenRail[]
  health(): Promise<Health>
  wallets(): Promise<readonly WalletBalance[]>
}

/** What all replicas share is read from the store when somebody asks for the figures; what this one sees stands beside it. */
export async function readGauges(parts: GaugeParts): Promise<readonly Gauge[]> {
  const { database, chains, rails } = parts
  const [figures, lagSeconds, backlog, balances, health, floats] = await Promise.all([
    readFigures(database),
    oldestDueSeconds(database, 'order'),
    webhookBacklog(database),
    // Figures of the store are worth having while a chain is silent.
    parts.wallets().catch((): readonly WalletBalance[] => []),
    parts.health(),
    readFloats(rails),
  ])
  return [
    ...orderGauges(figures, lagSeconds),
    ...moneyGauges(figures, floats),
    // Whoever is disabled is not late.
    ...webhookGauges(backlog.filter(({ isEnabled }) => isEnabled)),
    ...walletGauges(balances),
    ...healthGauges(health),
    ...nodeGauges(chains),
    ...processGauges(database.status()),
  ]
}

function orderGauges(figures: Figures, lagSeconds: number): readonly Gauge[] {
  const { openOrders, unknownOutcomes, refundsOpen, unmatchedTransfers, missingPayments } = figures
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
      'sutler_unmatched_transfers',
      'Money that came without a purchase, by state.',
      unmatchedTransfers.map(({ state, count }) => ({ labels: { state }, value: count })),
    ),
    gauge(
      'sutler_missing_payments',
      'Orders that count as paid, and whose payment the final blocks do not show.',
      only(missingPayments),
    ),
    gauge('sutler_worker_lag_seconds', 'How long the oldest due order has waited for a worker.', only(lagSeconds)),
  ]
}

function webhookGauges(backlog: readonly WebhookBacklog[]): readonly Gauge[] {
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

type Float = { readonly network: string; readonly amount: bigint }

/** What each treasury has to send back; nothing is said of one whose chain is silent. */
async function readFloats(rails: readonly OpenRail[]): Promise<readonly Float[]> {
  const selling = rails.filter(({ isSelling }) => isSelling)
  const read = await Promise.all(
    selling.map(({ rail }) =>
      rail.float(rail.payTo).then(
        (amount) => (amount === null ? null : { network: rail.network, amount }),
        () => null,
      ),
    ),
  )
  return read.filter((float) => float !== null)
}

function moneyGauges({ liabilities, troubles }: Figures, floats: readonly Float[]): readonly Gauge[] {
  const owed = (network: string) =>
    liabilities.reduce((sum, one) => (one.network === network ? sum + one.amount : sum), 0n)
  const networks = new Set([...floats, ...liabilities].map(({ network }) => network))
  return [
    gauge(
      'sutler_liabilities_usd',
      'Dollars that would have to go back if nothing that is open could be delivered.',
      [...networks].map((network) => ({ labels: { network }, value: usdNumber(owed(network)) })),
    ),
    gauge(
      'sutler_float_usd',
      'Dollars that the treasury could send back.',
      floats.map(({ network, amount }) => ({ labels: { network }, value: usdNumber(amount) })),
    ),
    gauge(
      'sutler_troubles_open',
      'What is wrong now, as events told of it, by kind.',
      troubleKinds.map((kind) => ({
        labels: { kind },
        value: troubles.find((one) => one.kind === kind)?.count ?? 0,
      })),
    ),
  ]
}
