import { parseUsd } from '../../base/money.ts'
import type { PriceTag } from '../../domain/good.ts'
import type { Rail } from '../../domain/rail.ts'
import { createReports } from '../../store/reports.ts'
import { type OpenSurface, type Surface, type SurfaceParts, toldGood } from '../surface.ts'
import { healthProbe, presentHealth, publishHealth } from './probe.ts'
import { presentReport, publishReport, txReport } from './report.ts'
import { type GatewayCounter, gatewayRows } from './rows.ts'
import { createTransactionLookup } from './transaction-lookup.ts'

/** Both cost 0.001 USD (contract 8.3), and both exist only where the interface says so. */
const price = { kind: 'fixed', amount: parseUsd('0.001') } as const satisfies PriceTag<never>
const isSoldOn = ({ privileges }: Rail) => privileges.hasProbes

/** A report waits no longer than this for the chains; it is recorded whatever they say. */
const LOOKUP_MS = 2_000

function open(parts: SurfaceParts): OpenSurface {
  const { networks, clock, random, log, database, chainOf, offersOn, payerProblem } = parts
  const chains = networks.map(({ network, chain }) => ({ network, rpc: chainOf(chain).rpc }))
  const transactions = createTransactionLookup({ chains, clock, log, waitMs: LOOKUP_MS })
  const health = healthProbe({ payerProblem })
  const report = txReport({ reports: createReports(database), transactions, clock, random, payerProblem })
  const counter: GatewayCounter = {
    health: offersOn({ good: health, price }, isSoldOn),
    report: offersOn({ good: report, price }, isSoldOn),
  }
  return { rails: [...counter.health.keys()], rows: (_desk, rail) => gatewayRows(counter, rail) }
}

/** It has no status route of its own: what became of a payment is told where it is told for all. */
const everywhere = () => '/payments'

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
