import type { JsonObject } from '../../base/json.ts'
import type { Offer } from '../../domain/offer.ts'
import type { RailName } from '../../domain/rail.ts'
import { paid, type Route } from '../../domain/route.ts'
import { healthSchema } from './probe.ts'
import { reportResultSchema } from './report.ts'
import { type ReportTx, reportSchema } from './schema.ts'
import { toolTexts } from './tools.ts'

export type GatewayCounter = {
  readonly health: ReadonlyMap<RailName, Offer<JsonObject>>
  readonly report: ReadonlyMap<RailName, Offer<ReportTx>>
}

const EXAMPLE = { userId: 'player-1', txHash: `0x${'ab'.repeat(32)}` }

export function gatewayRows({ health, report }: GatewayCounter, rail: RailName): readonly Route[] {
  const probe = health.get(rail)
  const note = report.get(rail)
  return [...(probe ? [healthRow(probe)] : []), ...(note ? [reportRow(note)] : [])]
}

function healthRow(offer: Offer<JsonObject>): Route {
  return paid('GET /x402/cheap-health', {
    surface: 'gateway',
    offer,
    body: null,
    example: {},
    result: healthSchema,
    tools: [toolTexts.checkGateway],
    summary: 'Paid health probe',
    description: 'Performs a real settlement and tells how long it took.',
  })
}

function reportRow(offer: Offer<ReportTx>): Route {
  return paid('POST /x402/report-tx', {
    surface: 'gateway',
    offer,
    body: reportSchema,
    example: EXAMPLE,
    result: reportResultSchema,
    // The first call may be empty, and the route is never limited (contract 4.2.3, contract 4.2.6).
    bodyIsBound: false,
    isRateLimited: false,
    tools: [toolTexts.reportTransaction],
    summary: 'Report a transaction hash',
    description: 'Records the hash of a successful transaction for a user. Only the paid call records it.',
  })
}
