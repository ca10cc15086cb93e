import { operatorContract } from '../api/documents/operator-contract.ts'
import { playerRows, playersElsewhere } from '../api/operator/player-rows.ts'
import { type OperatorRoute, operator } from '../api/operator/route.ts'
import { operatorRows } from '../api/operator/rows.ts'
import { once } from '../base/once.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { type AccountReport, reconcile } from '../ledger/reconcile.ts'
import { type Deed, recordDeed } from '../store/deeds.ts'
import { createPlayers } from '../store/game/players.ts'
import type { DeskParts } from './desk-parts.ts'
import { goodsRows } from './goods-desk.ts'
import { moneyDeskRows } from './money-desk.ts'
import { orderDeskRows, orderListing } from './order-desk.ts'
import { peopleRoutes } from './people-desk.ts'
import { createRefundDesk } from './refund-desk.ts'
import { rulesDeskRows } from './rules-desk.ts'
import { systemDeskRows } from './system-desk.ts'

/** What operators may ask and do, over this shop's parts. */
export function operatorRoutes(parts: DeskParts, checkout: Checkout): readonly OperatorRoute[] {
  const { config, database, random, events, webhooks, reconcileContext } = parts
  const { nicknameLengthMax } = config.limits
  const refunds = createRefundDesk(parts, checkout)
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
      refund: refunds.refund,
      metrics: parts.metrics,
    }),
    ...orderDeskRows(parts, checkout, refunds),
    ...moneyDeskRows(parts),
    ...rulesDeskRows(parts),
    ...systemDeskRows(parts),
    ...(config.game.backend.kind === 'embedded'
      ? playerRows({ players: createPlayers(database), random, nicknameLengthMax, listing: orderListing(parts) })
      : playersElsewhere()),
    ...goodsRows({ ...parts, offers: checkout.offers.values() }),
    ...peopleRoutes({ ...parts, approve: refunds.approve }, () => routes),
    operator('GET /openapi.operator.json', {
      role: 'viewer',
      summary: 'The contract of the operator routes',
      handle: async () => ({ body: contract() }),
    }),
  ]
  const contract = once(() => operatorContract({ origin: config.http.baseUrl, config }, routes))
  return routes
}

function reconciled(reports: readonly AccountReport[]): Deed {
  const after = Object.fromEntries(reports.map(({ account, difference }) => [account, difference.toString()]))
  return { deed: 'books.compared', about: { kind: 'books', id: 'receiving accounts' }, before: null, after }
}
