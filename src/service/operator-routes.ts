import type { EventLog } from '../api/operator/event-stream.ts'
import { exportRows } from '../api/operator/export-rows.ts'
import { playerRows, playersElsewhere } from '../api/operator/player-rows.ts'
import type { OperatorRoute } from '../api/operator/route.ts'
import { operatorRows } from '../api/operator/rows.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { ChainAccess } from '../chain/access.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { reconcile } from '../checkout/reconcile.ts'
import type { ReconcileContext } from '../checkout/reconcile-context.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import type { Operator } from '../domain/operator.ts'
import { planExport } from '../domain/retention.ts'
import type { Database } from '../store/db.ts'
import type { Doer } from '../store/deeds.ts'
import { createPlayers } from '../store/game/players.ts'
import { markExported, readExport } from '../store/retention/export.ts'
import type { Webhooks } from '../webhooks/endpoints.ts'
import { goodsRows } from './goods-desk.ts'
import { moneyDeskRows } from './money-desk.ts'
import { orderDeskRows, refundByOperator } from './order-desk.ts'
import type { Tally } from './tally.ts'

type OperatorRoutesParts = {
  readonly config: Config
  readonly database: Database
  readonly chainOf: (chain: ChainConfig) => ChainAccess
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly events: EventLog
  readonly webhooks: Webhooks
  readonly metrics: () => Promise<string>
  readonly reconcileContext: ReconcileContext
  readonly tally: Pick<Tally, 'flush'>
}

/** The same, with how a deed is signed: by whoever is at the desk, under the name that they say or have. */
export type DeskParts = OperatorRoutesParts & { doer(who: Operator, by?: string): Doer }

/** What operators may ask and do, over this shop's parts. */
export function operatorRoutes(parts: OperatorRoutesParts, checkout: Checkout): readonly OperatorRoute[] {
  const { config, database, clock, random, events, webhooks, reconcileContext } = parts
  const { nicknameLengthMax } = config.limits
  const desk: DeskParts = { ...parts, doer: (who, by = who.name) => ({ by, at: clock.now(), random }) }
  return [
    ...operatorRows({
      checkout,
      events,
      webhooks,
      reconcile: () => reconcile(reconcileContext),
      refund: (orderId, asked) => refundByOperator(desk, checkout, orderId, asked),
      metrics: parts.metrics,
    }),
    ...orderDeskRows(desk, checkout),
    ...moneyDeskRows(desk),
    ...(config.game.backend.kind === 'embedded'
      ? playerRows({ players: createPlayers(database), random, nicknameLengthMax })
      : playersElsewhere()),
    ...exportRows({
      plan: (days) => planExport(config.operations.retention.keep, clock.now(), days),
      page: (kind, slice) => readExport(database, kind, slice),
      mark: (exported) => markExported(database, exported),
    }),
    ...goodsRows({ ...parts, offers: checkout.offers.values() }),
  ]
}
