import { parseUsd } from '../../base/money.ts'
import type { ChainConfig, Config } from '../../config/config.ts'
import type { PriceTag } from '../../domain/good.ts'
import { createReports } from '../../store/reports.ts'
import { type OpenSurface, type Surface, type SurfaceParts, toldGood } from '../surface.ts'
import { healthProbe, presentHealth, publishHealth } from './probe.ts'
import { presentReport, publishReport, txReport } from './report.ts'
import { type GatewayCounter, gatewayRows } from './rows.ts'
import { createTransactionLookup } from './transaction-lookup.ts'

/** Both cost 0.001 USD (contract 8.3), and both exist on x402 only. */
const price = { kind: 'fixed', amount: parseUsd('0.001') } as const satisfies PriceTag<never>
const RAILS = ['x402'] as const

/** A report waits no longer than this for the chains; it is recorded whatever they say. */
const WITNESS_MS = 2_000

function open(parts: SurfaceParts): OpenSurface {
  const { config, clock, random, log, database, chainOf, offersOn, payerProblem } = parts
  const chains = knownChains(config).map(({ network, chain }) => ({ network, rpc: chainOf(chain).rpc }))
  const transactions = createTransactionLookup({ chains, clock, log, waitMs: WITNESS_MS })
  const health = healthProbe({ payerProblem })
  const report = txReport({ reports: createReports(database), transactions, clock, random, payerProblem })
  const counter: GatewayCounter = {
    health: offersOn({ good: health, price }, RAILS),
    report: offersOn({ good: report, price }, RAILS),
  }
  return { rails: [...counter.health.keys()], rows: (_desk, rail) => gatewayRows(counter, rail) }
}

/** It has no status route of its own: what became of a payment is told where it is told for all. */
const everywhere = () => ({ host: RAILS[0], path: '/payments' })

/** Paid probes of the payment path itself. */
export const gateway: Surface = {
  name: 'gateway',
  words: ['paid health probes', 'transaction reports'],
  title: 'Paid health probe, and reports of transactions',
  isService: true,
  hasShelf: false,
  deliveryMs: ({ waitMsMax }) => waitMsMax,
  goods: () => ({
    healthProbe: toldGood({ present: presentHealth, publish: publishHealth }, everywhere),
    txReport: toldGood({ present: presentReport, publish: publishReport }, everywhere),
  }),
  statusRow: () => null,
  open,
}

/** Each chain once; the names are those that payments go by. */
function knownChains({ x402, mpp, game }: Config): readonly { network: string; chain: ChainConfig }[] {
  const chains = [
    ...(x402 ? [{ network: x402.network, chain: x402.chain }] : []),
    ...(mpp ? [{ network: mpp.network, chain: mpp.chain }] : []),
    { network: `eip155:${game.chain.chainId}`, chain: game.chain },
  ]
  return chains.filter(
    ({ chain }, index) => chains.findIndex((other) => other.chain.chainId === chain.chainId) === index,
  )
}
