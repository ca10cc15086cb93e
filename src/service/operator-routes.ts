import type { Admission } from '../api/operator/admission.ts'
import { arrivalRows } from '../api/operator/arrival-rows.ts'
import type { EventLog } from '../api/operator/event-stream.ts'
import { exportRows } from '../api/operator/export-rows.ts'
import { type Decision, orderRows } from '../api/operator/order-rows.ts'
import { playerRows, playersElsewhere } from '../api/operator/player-rows.ts'
import type { OperatorRoute } from '../api/operator/route.ts'
import { operatorRows } from '../api/operator/rows.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { ChainAccess } from '../chain/access.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { decideArrival } from '../checkout/orphans.ts'
import { reconcile, type TillReport } from '../checkout/reconcile.ts'
import type { ReconcileContext } from '../checkout/reconcile-context.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import { planExport } from '../domain/retention.ts'
import { presentArrival } from '../domain/till.ts'
import type { RailAccount } from '../rails/kind.ts'
import type { Database } from '../store/db.ts'
import { type Deed, recordDeed } from '../store/deeds.ts'
import { createGameCalls, type GameVerdict } from '../store/game/calls.ts'
import { createPlayers } from '../store/game/players.ts'
import { hurry } from '../store/jobs.ts'
import { listOrders, sumOrders } from '../store/orders/list.ts'
import { readTimeline } from '../store/orders/timeline.ts'
import { markExported, readExport } from '../store/retention/export.ts'
import { arrivalsBy, arrivalsFrom, listFound } from '../store/tills/arrival-list.ts'
import type { Webhooks } from '../webhooks/endpoints.ts'
import { goodsRows } from './goods-desk.ts'
import { peopleRoutes } from './people-desk.ts'

type OperatorRoutesParts = {
  readonly config: Config
  readonly accounts: readonly RailAccount[]
  readonly database: Database
  readonly chainOf: (chain: ChainConfig) => ChainAccess
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly events: EventLog
  readonly webhooks: Webhooks
  readonly metrics: () => Promise<string>
  readonly reconcileContext: ReconcileContext
  readonly admission: Admission
}

/** What operators may ask and do, over this shop's parts. */
export function operatorRoutes(parts: OperatorRoutesParts, checkout: Checkout): readonly OperatorRoute[] {
  const { config, database, clock, random, events, webhooks, reconcileContext } = parts
  const { nicknameLengthMax } = config.limits
  const routes: readonly OperatorRoute[] = [
    ...operatorRows({
      checkout,
      events,
      webhooks,
      async reconcile(doer) {
        const reports = await reconcile(reconcileContext)
        await recordDeed(database, doer, reconciled(reports))
        return reports
      },
      async decideArrival(id, decision) {
        const { arrival, till } = await decideArrival(reconcileContext, id, decision)
        return presentArrival(arrival, till)
      },
      metrics: parts.metrics,
    }),
    ...arrivalRows({
      list: (filter) => listOrders(database, filter),
      ordersBy: checkout.orders.byReference,
      listArrivals: (filter) => listFound(database, filter),
      arrivalsBy: (reference) => arrivalsBy(database, reference),
      arrivalsFrom: (sender, limit) => arrivalsFrom(database, sender, limit),
    }),
    ...orderRows({
      list: (filter) => listOrders(database, filter),
      sum: (selection, ordersMax) => sumOrders(database, selection, ordersMax),
      timeline: (reference) => readTimeline(database, reference),
      hurry: (key) => hurry(database, { kind: 'order', key }),
      decide: (orderId, outcome, by) => decideDelivery(parts, { orderId, outcome, by }),
    }),
    ...(config.game.backend.kind === 'embedded'
      ? playerRows({ players: createPlayers(database), random, nicknameLengthMax })
      : playersElsewhere()),
    ...exportRows({
      plan: (days) => planExport(config.operations.retention.keep, clock.now(), days),
      page: (kind, slice) => readExport(database, kind, slice),
      mark: (doer, exported) => markExported(database, doer, exported),
    }),
    ...goodsRows({ ...parts, offers: checkout.offers.values() }),
    ...peopleRoutes(parts, () => routes),
  ]
  return routes
}

function reconciled(reports: readonly TillReport[]): Deed {
  const after = Object.fromEntries(reports.map(({ till, difference }) => [till, difference.toString()]))
  return { deed: 'books.compared', about: { kind: 'books', id: 'tills' }, before: null, after }
}

/** A person found out what the game could not say. Not while a request may still be on its way to it. */
async function decideDelivery(
  { config, database, clock, log }: OperatorRoutesParts,
  { orderId, outcome, by }: { readonly orderId: string; readonly outcome: GameVerdict; readonly by: string },
): Promise<Decision> {
  const calls = createGameCalls(database)
  const call = await calls.find(orderId)
  if (call && clock.now() < call.sentAt + config.limits.gameRequestLifeMs) return 'too_early'
  if (!(await calls.decide(orderId, outcome, by))) return 'nothing_to_decide'
  log.warn('an operator decided about a delivery', { orderId, outcome, by })
  return 'taken'
}
