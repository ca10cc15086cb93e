import type { GatewayCounter } from '../api/rows/gateway.ts'
import { parseUsd } from '../base/money.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import type { Price } from '../domain/good.ts'
import { createReports } from '../store/reports.ts'
import { healthProbe } from '../surfaces/gateway/probe.ts'
import { txReport } from '../surfaces/gateway/report.ts'
import { createWitness } from '../surfaces/gateway/witness.ts'
import type { CounterParts } from './counter.ts'

/** Both cost 0.001 USD (contract 8.3), and both exist on x402 only. */
const price = { kind: 'fixed', amount: parseUsd('0.001') } as const satisfies Price<never>
const RAILS = ['x402'] as const

/** A report waits no longer than this for the chains; it is recorded whatever they say. */
const WITNESS_MS = 2_000

export function createGateway(parts: CounterParts): GatewayCounter {
  const { config, clock, random, log, database, chainOf, offersOn, payerProblem } = parts
  const chains = knownChains(config).map(({ network, chain }) => ({ network, rpc: chainOf(chain).rpc }))
  const witness = createWitness({ chains, clock, log, waitMs: WITNESS_MS })
  const health = healthProbe({ payerProblem })
  const report = txReport({ reports: createReports(database), witness, clock, random, payerProblem })
  return {
    health: offersOn({ good: health, price }, RAILS),
    report: offersOn({ good: report, price }, RAILS),
  }
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
