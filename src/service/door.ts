import { createHttpApp, type Other } from '../api/app.ts'
import { withConsole } from '../api/console/console.ts'
import type { ConsoleShop } from '../api/console/shell.ts'
import { createDocuments } from '../api/documents/rows.ts'
import { createPaymentGate } from '../api/gate/payment-gate.ts'
import { createRateLimiter, RATE_WINDOW_SECONDS, type RateLimiter } from '../api/gate/rate-limit.ts'
import type { SharedCounts } from '../api/gate/rate-sharing.ts'
import { createClientFinder } from '../api/http/client-address.ts'
import type { HttpApp } from '../api/http/serving.ts'
import { createMcp } from '../api/mcp/mcp.ts'
import { createAdmission } from '../api/operator/admission.ts'
import { type OperatorRoute, operatorHandlers } from '../api/operator/route.ts'
import { assetHandlers } from '../api/pages/assets.ts'
import { routes } from '../api/routes.ts'
import { Secret } from '../base/secret.ts'
import { VERSION } from '../base/version.ts'
import { type Config, mcpBaseUrl } from '../config/config.ts'
import type { Route } from '../domain/route.ts'
import type { RailKind } from '../rails/kind.ts'
import { addHits, forgetHits } from '../store/counters.ts'
import type { Database } from '../store/db.ts'
import { type Deed, type Doer, recordDeed } from '../store/deeds.ts'
import { soldBefore } from './open-orders.ts'
import type { OpenedCheckout } from './opened-checkout.ts'
import type { Ground } from './parts.ts'

type Door = {
  readonly app: HttpApp
  readonly table: readonly Route[]
  readonly operatorRoutes: readonly OperatorRoute[]
  readonly limiter: RateLimiter
}

/** The route table and everything that is served beside it, as one function from requests to answers. */
export async function openDoor(config: Config, ground: Ground, opened: OpenedCheckout): Promise<Door> {
  const { clock, random, log, database, patient, surfaces, rails, extraRoutes } = ground
  const { checkout, operations, meter, context, open, accounts } = opened
  const { limits, http } = config
  const rows = [
    ...routes(context, await soldBefore(patient, surfaces, rails, open)),
    ...operations.publicRoutes(checkout),
    ...extraRoutes,
  ]
  const treasuryKeys = accounts.map(({ treasuryKey }) => treasuryKey).filter((key) => key instanceof Secret)
  const documents = createDocuments({ context, config, treasuryKeys, version: VERSION, others: rows })
  const table = [...rows, ...documents.rows]
  const limiter = createRateLimiter({
    limits,
    proxyHops: http.proxyHops,
    shared: sharedCounts(database),
    clock,
    log,
    onLimited: meter.limited,
  })
  const paymentGate = createPaymentGate({ checkout, rails, limiter, limits })
  const mcp = createMcp({
    routes: table,
    config,
    references: rails.map(({ reference }) => reference),
    version: VERSION,
    checkout,
    limiter,
    paymentGate,
    random,
    log,
  })
  const office = openOffice(config, ground, { opened, limiter })
  const others = new Map<string, Other>([['/mcp', { host: mcpBaseUrl(http), handle: mcp }]])
  for (const [path, other] of office.others) others.set(path, { host: 'both', ...other })
  for (const [path, handle] of assetHandlers(limiter)) others.set(path, { host: 'both', handle })
  const app = createHttpApp({
    routes: table,
    factsOf: documents.factsOf,
    others,
    checkout,
    http,
    limits,
    limiter,
    paymentGate,
    observe: meter.answered,
    random,
    log,
  })
  return { app, table, operatorRoutes: office.operatorRoutes, limiter }
}

type Office = {
  readonly operatorRoutes: readonly OperatorRoute[]
  /** The same and the console's pages, by path. */
  readonly others: ReturnType<typeof withConsole>
}

/** What people are served who run the shop. */
function openOffice(
  config: Config,
  { clock, random, log, database, rails }: Ground,
  { opened, limiter }: { readonly opened: OpenedCheckout; readonly limiter: RateLimiter },
): Office {
  const { http, limits, operators, operatorToken } = config
  const { checkout, operations } = opened
  const admission = createAdmission({
    token: operatorToken,
    tokenRole: operators.tokenRole,
    console: operators.console,
    http,
    database,
    limiter,
    clock,
    addressOf: createClientFinder(http.proxyHops),
  })
  // Without a token and without sessions nobody can tell that there are such routes.
  const isRun = operatorToken !== null || operators.console
  const operatorRoutes = isRun ? operations.operatorRoutes(checkout, admission) : []
  const record = (doer: Doer, deed: Deed) =>
    recordDeed(database, doer, deed).catch((error) =>
      log.error('audit entry could not be written', { ...deed, by: doer.by, error }),
    )
  const handlers = operatorHandlers({ routes: operatorRoutes, admission, limits, clock, random, record })
  const shop = operators.console ? consoleShop(config, rails) : null
  return { operatorRoutes, others: withConsole(handlers, shop, limiter) }
}

function consoleShop({ service, mode }: Config, kinds: readonly RailKind[]): ConsoleShop {
  const rails = kinds.map(({ name, label }) => ({ name, label }))
  return { name: service.name, isSandbox: mode === 'sandbox', rails }
}

/** The embedded engine has one process, which knows all there is to count. */
function sharedCounts(database: Database): SharedCounts | null {
  if (database.engine === 'embedded') return null
  return {
    add: (reports) => addHits(database, reports, 2 * RATE_WINDOW_SECONDS),
    forget: () => forgetHits(database),
  }
}
