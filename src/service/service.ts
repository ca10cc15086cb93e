import { createHttpApp, type Other } from '../api/app.ts'
import { documentRows } from '../api/documents/rows.ts'
import { createPaymentGate } from '../api/gate/payment-gate.ts'
import { createRateLimiter, RATE_WINDOW_SECONDS } from '../api/gate/rate-limit.ts'
import type { SharedCounts } from '../api/gate/rate-sharing.ts'
import { startServer } from '../api/http/server.ts'
import { createMcp } from '../api/mcp/mcp.ts'
import { createShopMeter } from '../api/operator/metrics.ts'
import { operatorHandlers } from '../api/operator/route.ts'
import { assetHandlers } from '../api/pages/assets.ts'
import { routes } from '../api/routes.ts'
import { createShopContext } from '../api/shop/shop-context.ts'
import { type Clock, syncedClock, systemClock } from '../base/clock.ts'
import { type Random, systemRandom } from '../base/id.ts'
import { readSigningKey } from '../base/jws.ts'
import { createLog, type Log } from '../base/log.ts'
import { VERSION } from '../base/version.ts'
import { noWaypoint, type Waypoint } from '../base/waypoint.ts'
import type { RpcTransport } from '../chain/transport.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { createReceiptSigner } from '../checkout/receipt.ts'
import { sendBack } from '../checkout/send-back.ts'
import { startWorker } from '../checkout/worker.ts'
import { type Config, mcpBaseUrl } from '../config/config.ts'
import { declareRail } from '../domain/rail.ts'
import type { Route } from '../domain/route.ts'
import { accountsOf, addressFinder, type RailKind } from '../rails/kind.ts'
import { rails as allRails } from '../rails/rails.ts'
import { addHits, forgetHits } from '../store/counters.ts'
import { type Database, openDatabase } from '../store/db.ts'
import { StoreFault } from '../store/fault.ts'
import { claim, enqueueLeased, extend, forget, ORDER_ATTEMPTS_MAX, release } from '../store/jobs.ts'
import { createJournal } from '../store/journal.ts'
import { migrate, pendingMigrations } from '../store/migrate.ts'
import { createOrders } from '../store/orders.ts'
import { addStrike } from '../store/strikes.ts'
import type { Surface } from '../surfaces/surface.ts'
import type { Resolve } from '../webhooks/target.ts'
import { createChains } from './chains.ts'
import { pairOffers } from './offers.ts'
import { assertAllFinishable, assertAllReturnable, soldBefore } from './open-orders.ts'
import { createOperations, type Operations } from './operations.ts'
import { openRails, recordedTerms, sellingRails } from './rails.ts'
import { surfaces as allSurfaces } from './surfaces.ts'
import { createTelling } from './telling.ts'
import { keepTime } from './time.ts'

/** What tests replace, and what the sandbox brings along. */
export type Parts = {
  readonly clock?: Clock
  readonly random?: Random
  readonly log?: Log
  readonly waypoint?: Waypoint
  /** Chains that live in this process, by id. */
  readonly transports?: ReadonlyMap<number, RpcTransport | readonly RpcTransport[]>
  /** All that can be sold, where that is more than what comes with the program. */
  readonly surfaces?: readonly Surface[]
  /** All ways to pay, where these are more than what comes with the program. */
  readonly rails?: readonly RailKind[]
  /** A database that is open already; the service then leaves it open. */
  readonly database?: Database
  /** Orders then move only while a request drives them. */
  readonly withoutWorker?: boolean
  /** Nothing is loaded before it is needed: for a process that will not live long. */
  readonly startsCold?: boolean
  /** Looks up the names of webhook receivers. */
  readonly resolve?: Resolve
  /** Runs when the store is up to date: the sandbox fills its shelves, and brings routes of its own. */
  readonly furnish?: (database: Database) => Promise<readonly Route[]>
}

export type Service = {
  /** Where it listens, on this machine. */
  readonly url: string
  readonly port: number
  readonly checkout: Checkout
  readonly operations: Operations
  readonly routes: readonly Route[]
  readonly database: Database
  /** Stops accepting, finishes or hands over what is under way, closes the store. */
  stop(): Promise<void>
}

/** The only place where all parts meet. */
export async function startService(config: Config, parts: Parts = {}): Promise<Service> {
  const { random = systemRandom, waypoint = noWaypoint, transports = new Map(), startsCold = false } = parts
  const { surfaces = allSurfaces, rails: kinds = allRails } = parts
  for (const { name } of kinds) declareRail(name)
  const ownClock = syncedClock(systemClock)
  const { clock = ownClock } = parts
  const log = parts.log ?? createLog({ level: config.logLevel, clock, write: (line) => process.stderr.write(line) })
  const database = parts.database ?? (await openStore(config, { clock, random, log }))
  await bringUpToDate(database, config, log)
  const extraRoutes = (await parts.furnish?.(database)) ?? []
  const stopping = new AbortController()
  if (clock === ownClock) await keepTime(ownClock, database, log, stopping.signal)

  const { limits } = config
  const journal = createJournal(database)
  const chainOf = createChains({ limits, journal, clock, log, waypoint, transports })
  const { name: serviceName } = config.service
  const { http } = config
  const accounts = accountsOf(kinds, config)
  const sellingAccounts = accounts.filter(({ isSelling }) => isSelling)
  const addressOf = addressFinder(kinds, http)
  const past = await recordedTerms(database, accounts)
  const telling = createTelling({ config, surfaces, addressOf, past })
  const { secondOpinionFrom } = config.operations
  const railParts = { http, limits, clock, log, waypoint, serviceName, startsCold, past, secondOpinionFrom }
  const rails = openRails(accounts, chainOf, railParts)
  const build = { config, clock, random, log, waypoint, database, chainOf }
  const { open, offers } = pairOffers({ ...build, surfaces, accounts: sellingAccounts, rails, telling })
  await assertAllFinishable(database, offers)
  const meter = createShopMeter(() => operations.wake())
  const orders = createOrders(database)
  const around = {
    config,
    accounts,
    database,
    journal,
    rails,
    chainOf,
    meter,
    clock,
    random,
    log,
    waypoint,
    orders,
    past,
  }
  const operations = createOperations({ ...around, resolve: parts.resolve })
  await assertAllReturnable(database, operations.reconcileContext)
  const checkout: Checkout = {
    orders,
    jobs: {
      begin: (key, leaseSeconds) =>
        enqueueLeased(database, { kind: 'order', key, leaseSeconds, maxAttempts: ORDER_ATTEMPTS_MAX }),
      forget: (lease) => forget(database, lease),
      claim: (limit, leaseSeconds) => claim(database, { kinds: ['order'], limit, leaseSeconds }),
      extend: (lease, leaseSeconds) => extend(database, lease, leaseSeconds),
      release: (lease, delaySeconds, priority) => release(database, lease, delaySeconds, priority),
    },
    offers,
    byRecords: telling.byRecords,
    ensureRoom() {
      database.ensureRoom()
      operations.gate.assertOpen()
    },
    clock,
    random,
    log,
    waypoint,
    limits,
    receipts: createReceiptSigner({
      key: readSigningKey(config.receipts.key),
      retired: config.receipts.retired,
      issuer: config.http.baseUrl,
    }),
    meter,
    isBlocked: operations.reconcileContext.isBlocked,
    sendBack: (rail, astray) => sendBack(operations.reconcileContext, rail, astray),
    paymentUrl: (rail, reference) => context.urlOf(rail, `/payments/${reference}`),
    enterWaitingRoom: createWaitingRoom(limits.waitingMax),
    strike: (strike) => addStrike(database, strike),
    running: new Map(),
  }
  const context = createShopContext({
    checkout,
    mainHost: http.baseUrl,
    hostOf: addressOf,
    limits,
    rails: sellingRails(rails),
    surfaces,
    open,
  })
  const rows = [
    ...routes(context, await soldBefore(database, surfaces, kinds, open)),
    ...operations.publicRoutes(checkout),
    ...extraRoutes,
  ]
  const treasuryKeys = sellingAccounts.map(({ treasuryKey }) => treasuryKey)
  const table = [...rows, ...documentRows({ context, config, treasuryKeys, version: VERSION, others: rows })]
  const limiter = createRateLimiter({
    limits,
    proxyHops: config.http.proxyHops,
    shared: sharedCounts(database),
    clock,
    log,
  })
  const paymentGate = createPaymentGate({ checkout, rails: kinds, limiter, limits })
  const selling = { routes: table, checkout, limiter, paymentGate, random, log }
  const references = kinds.map(({ reference }) => reference)
  const mcp = createMcp({ ...selling, config, references, version: VERSION })
  const others = new Map<string, Other>([['/mcp', { host: mcpBaseUrl(http), handle: mcp }]])
  const operatorParts = { routes: operations.operatorRoutes(checkout), token: config.operatorToken }
  for (const [path, handle] of operatorHandlers({ ...operatorParts, limits, limiter }))
    others.set(path, { host: 'both', handle })
  for (const [path, handle] of assetHandlers(limiter)) others.set(path, { host: 'both', handle })
  const app = createHttpApp({ ...selling, others, http: config.http, limits, observe: meter.answered })
  await operations.gate.open(stopping.signal)
  const worker = parts.withoutWorker ? null : startWorker(checkout)
  if (!parts.withoutWorker) operations.start()
  const server = await startServer({ app, http: config.http, limits, log })
  const { port } = server

  /** Nobody is turned away: who was let in gets an answer, and only then does the work behind the answers end. */
  async function putDown(): Promise<void> {
    const halted = Promise.all([worker?.stop(), operations.stop(), limiter.stop()])
    await server.drain()
    await Promise.all([halted, ...checkout.running.values()])
  }

  return {
    url: `http://${config.http.host.includes(':') ? `[${config.http.host}]` : config.http.host}:${port}`,
    port,
    checkout,
    operations,
    routes: table,
    database,
    async stop() {
      stopping.abort()
      const timer = new AbortController()
      const timeUp = clock.sleep(limits.drainMsMax, timer.signal).then(() => 'late' as const)
      // What is cut off here goes on elsewhere, or at the next start: every step is written down before it is taken.
      if ((await Promise.race([putDown(), timeUp])) === 'late') log.warn('stopped with work under way')
      timer.abort()
      await server.close()
      if (!parts.database) await database.close()
    },
  }
}

/** So many may wait; the next one is told to come back. */
function createWaitingRoom(places: number): () => (() => void) | null {
  let taken = 0
  return () => {
    if (taken >= places) return null
    taken++
    return () => {
      taken--
    }
  }
}

function openStore(config: Config, parts: { clock: Clock; random: Random; log: Log }): Promise<Database> {
  const { url, dataDir, poolSize } = config.store
  return openDatabase({ dataDir, poolSize, ...parts, ...(url === undefined ? {} : { url }) })
}

async function bringUpToDate(database: Database, { store }: Config, log: Log): Promise<void> {
  if (store.migrate === 'auto') {
    await migrate(database, { log })
    return
  }
  const pending = await pendingMigrations(database)
  if (pending.length === 0) return
  throw new StoreFault(
    'migration_pending',
    `the store lacks ${pending.join(', ')}; run \`sutler migrate\`, or set SUTLER_DB_MIGRATE=auto`,
  )
}

/** The embedded engine has one process, which knows all there is to count. */
function sharedCounts(database: Database): SharedCounts | null {
  if (database.engine === 'embedded') return null
  return {
    add: (reports) => addHits(database, reports, 2 * RATE_WINDOW_SECONDS),
    forget: () => forgetHits(database),
  }
}
