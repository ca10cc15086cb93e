import type { JsonObject } from '../../base/json.ts'
import { labelsOf, type Offer } from '../../domain/offer.ts'
import type { RailName } from '../../domain/rail.ts'
import { paid, type Route } from '../../domain/route.ts'
import { healthSchema } from './probe.ts'
import { reportResultSchema } from './report.ts'
import { type ReportTx, reportSchema } from './schema.ts'
import { faces } from './tools.ts'

export type GatewayCounter = {
  readonly health: ReadonlyMap<RailName, Offer<JsonObject>>
  readonly report: ReadonlyMap<RailName, Offer<ReportTx>>
}

const EXAMPLE = { userId: 'player-1', txHash: `0x${'ab'.repeat(32)}` }

export function gatewayRows({ health, report }: GatewayCounter, rail: RailName): readonly Route[] {
  const probe = health.get(rail)
  const note = report.get(rail)
  const paidBy = labelsOf(health)
  return [...(probe ? [healthRow(probe, paidBy)] : []), ...(note ? [reportRow(note, paidBy)] : [])]
}

function healthRow(offer: Offer<JsonObject>, paidBy: string): Route {
  return paid(`GET /${offer.rail.name}/cheap-health`, {
    surface: 'gateway',
    offer,
    body: null,
    example: {},
    result: healthSchema,
    tools: [faces.checkGateway(paidBy)],
    summary: 'Paid health probe',
    description: 'Performs a real settlement and tells how long it took.',
  })
}

function reportRow(offer: Offer<ReportTx>, paidBy: string): Route {
  return paid(`POST /${offer.rail.name}/report-tx`, {
    surface: 'gateway',
    offer,
    body: reportSchema,
    example: EXAMPLE,
    result: reportResultSchema,
    // The first call may be empty, and the route is never limited (contract 4.2.3, contract 4.2.6).
    bodyIsBound: false,
    isRateLimited: false,
    tools: [faces.reportTransaction(paidBy)],
    summary: 'Report a transaction hash',
    description: 'Records the hash of a successful transaction for a user. Only the paid call records it.',
  })
}
