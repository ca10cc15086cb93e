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
import { createShopMeter, type ShopMeter } from '../api/operator/metrics.ts'
import { type OperatorRoute, operatorHandlers } from '../api/operator/route.ts'
import { assetHandlers } from '../api/pages/assets.ts'
import { routes } from '../api/routes.ts'
import { createShopContext, type ShopContext } from '../api/shop/shop-context.ts'
import type { Clock } from '../base/clock.ts'
import { readSigningKey } from '../base/jws.ts'
import type { Log } from '../base/log.ts'
import { measuredExchange } from '../base/measured-exchange.ts'
import { Secret } from '../base/secret.ts'
import { VERSION } from '../base/version.ts'
import type { Checkout, OrderJobs } from '../checkout/checkout.ts'
import { createReceiptSigner } from '../checkout/receipt.ts'
import { sendBack } from '../checkout/send-back.ts'
import { createStoreMemory, isInDoubt } from '../checkout/store-memory.ts'
import { startWorker } from '../checkout/worker.ts'
import { type Config, mcpBaseUrl } from '../config/config.ts'
import type { Shelf } from '../domain/catalog.ts'
import type { SurfaceName } from '../domain/good.ts'
import type { Route } from '../domain/route.ts'
import { accountsOf, addressFinder, type RailAccount, type RailKind } from '../rails/kind.ts'
import { addHits, forgetHits } from '../store/counters.ts'
import type { Database } from '../store/db.ts'
import { type Deed, type Doer, recordDeed } from '../store/deeds.ts'
import { claim, enqueueLeased, extend, forget, release } from '../store/jobs.ts'
import { createOrders } from '../store/orders/orders.ts'
import { addStrike } from '../store/orders/strikes.ts'
import { patiently } from '../store/patience.ts'
import { createJournal } from '../store/sends/journal.ts'
import type { OpenSurface } from '../surfaces/surface.ts'
import { createChains } from './chains.ts'
import { createHouseRules } from './house-rules.ts'
import { pairOffers } from './offers.ts'
import { assertAllFinishable, assertAllReturnable, soldBefore } from './open-orders.ts'
import { createOperations, type Operations } from './operations.ts'
import { type Ground, layGround, type Parts } from './parts.ts'
import { firstLink, isUnfounded } from './people-desk.ts'
import { openRails, recordedTerms, sellingRails, warmUp } from './rails.ts'
import { createNodeTimes, createReplica } from './replica.ts'
import { chainKeys, recordedSigners } from './signers.ts'
import { createTally } from './tally.ts'
import { createTelling } from './telling.ts'
import { keepTime } from './time.ts'

/** A shop that could sell, and waits to be told to begin: everything but the socket. */
export type Assembly = {
  readonly app: HttpApp
  readonly checkout: Checkout
  readonly operations: Operations
  readonly routes: readonly Route[]
  readonly operatorRoutes: readonly OperatorRoute[]
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  firstLink(): Promise<string | null>
  isUnfounded(): Promise<boolean>
  /** Learns which payments are spent, and takes up what is open. */
  begin(): Promise<void>
  /** Begins nothing more. `answered` settles when everybody who was let in has their answer; only then does the work behind it end. */
  end(answered: () => Promise<void>): Promise<void>
}

/** The only place where all parts meet. */
export async function assemble(config: Config, parts: Parts = {}): Promise<Assembly> {
  const ground = await layGround(config, parts)
  const { database, patient, clock, ownClock, log } = ground
  const stopping = new AbortController()
  if (ownClock) await patiently(() => keepTime(ownClock, database, log, stopping.signal), { clock, log })
  const counter = await openCounter(config, ground)
  const { checkout, operations } = counter
  const { app, table, operatorRoutes, limiter } = await openDoor(config, ground, counter)
  let worker: ReturnType<typeof startWorker> | null = null
  return {
    app,
    checkout,
    operations,
    routes: table,
    operatorRoutes,
    database,
    clock,
    log,
    firstLink: () => firstLink({ config, database: patient, clock, random: ground.random }),
    isUnfounded: () => isUnfounded({ config, database: patient }),
    async begin() {
      await operations.gate.open(stopping.signal)
      counter.listen(stopping.signal)
      if (ground.withoutWorker) return
      operations.gate.watch(stopping.signal)
      worker = startWorker(checkout)
      operations.start()
    },
    async end(answered) {
      stopping.abort()
      const halted = Promise.all([worker?.stop(), operations.stop(), limiter.stop()])
      await answered()
      await Promise.all([halted, ...checkout.running.values()])
      await operations.gate.leave().catch((error: unknown) => log.debug('the store heard no good-bye', { error }))
    },
  }
}

type Counter = {
  readonly checkout: Checkout
  readonly operations: Operations
  readonly meter: ShopMeter
  readonly context: ShopContext
  readonly open: ReadonlyMap<SurfaceName, OpenSurface>
  /** Tells of new blocks from now on, until `stop`. */
  listen(stop: AbortSignal): void
  /** Where the rails that sell are paid. */
  readonly accounts: readonly RailAccount[]
}

/** Rails, goods and books: what sells, whoever asks and however. */
async function openCounter(config: Config, ground: Ground): Promise<Counter> {
  const { clock, random, log, waypoint, exchange, database, patient, transports, surfaces, startsCold } = ground
  const { limits, http } = config
  const sources = { clock, random, log, waypoint, exchange }
  const journal = createJournal(database)
  const tally = createTally({ database, clock, log, shelves: () => shelvesOf(open) })
  const meter = createShopMeter({ onMoved: () => operations.wake(), onTold: tally.count })
  const nodes = createNodeTimes(meter.chain)
  const chains = createChains({ limits, journal, clock, log, waypoint, transports, meter: nodes.meter })
  const { chainOf } = chains
  const measured = (service: string) => measuredExchange(exchange, clock, (asked) => meter.outside(service, asked))
  const accounts = accountsOf(ground.rails, config)
  const selling = accounts.filter(({ isSelling }) => isSelling)
  const hostOf = addressFinder(ground.rails, http)
  const past = await recordedTerms(patient, accounts)
  const { signers, ownKeys } = await recordedSigners(patient, chainKeys(accounts, surfaces, config), chainOf)
  const telling = createTelling({ config, surfaces, hostOf, past })
  const { secondOpinionFrom } = config.operations
  const railParts = {
    ...sources,
    exchange: measured('facilitator'),
    ...{ http, limits, serviceName: config.service.name, past, secondOpinionFrom },
  }
  const rails = openRails(accounts, chainOf, railParts)
  if (!startsCold) await warmUp(rails, log)
  const goods = { ...sources, exchange: measured('game'), config, database, chainOf, surfaces }
  const rules = createHouseRules({ database, clock, log, configured: config.blockedPayers })
  const { isBlocked, isNeverServed } = rules
  const { open, offers } = pairOffers({ ...goods, accounts: selling, rails, telling, rules })
  await assertAllFinishable(patient, offers)
  const orders = createOrders(database)
  const memory = createStoreMemory()
  const books = { config, accounts, database, signers, ownKeys, orders, past, memory }
  const replica = createReplica({ database, clock, random, nodes })
  const around = { ...sources, ...books, rails, open, chainOf, meter, tally, rules, replica }
  const { resolve, post, doctor, lookMs } = ground
  const operations = createOperations({ ...around, resolve, post, doctor, lookMs })
  await assertAllReturnable(patient, operations.reconcileContext)
  const receipts = createReceiptSigner({
    key: readSigningKey(config.receipts.key),
    retired: config.receipts.retired,
    issuer: http.baseUrl,
  })
  const checkout: Checkout = {
    ...{ clock, random, log, waypoint, limits, orders, offers, meter, receipts, memory, isBlocked, isNeverServed },
    jobs: orderJobs(database),
    isInDoubt: () => isInDoubt(database, memory),
    byRecords: telling.byRecords,
    ensureRoom() {
      database.ensureRoom()
      operations.gate.assertOpen()
    },
    assertSelling(surface, rail) {
      operations.health.assertSelling(surface, rail)
      return rules.assertUnpaused(rail)
    },
    sendBack: (rail, astray) => sendBack(operations.reconcileContext, rail, astray),
    paymentUrl: (rail, reference) => context.urlOf(rail, `/payments/${reference}`),
    enterWaitingRoom: createWaitingRoom(limits.waitingMax),
    strike: (strike) => addStrike(database, strike),
    running: new Map(),
  }
  const hosts = { hostOf, mainHost: http.baseUrl }
  const context = createShopContext({ checkout, ...hosts, limits, rails: sellingRails(rails), surfaces, open })
  const listen = (stop: AbortSignal) => chains.listen([...accounts.map(({ chain }) => chain), config.game.chain], stop)
  return { checkout, operations, meter, context, open, listen, accounts: selling }
}

type Door = {
  readonly app: HttpApp
  readonly table: readonly Route[]
  readonly operatorRoutes: readonly OperatorRoute[]
  readonly limiter: RateLimiter
}

/** The route table and everything that is served beside it, as one function from requests to answers. */
async function openDoor(config: Config, ground: Ground, counter: Counter): Promise<Door> {
  const { clock, random, log, database, patient, surfaces, rails, extraRoutes } = ground
  const { checkout, operations, meter, context, open, accounts } = counter
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
    ...{ limits, proxyHops: http.proxyHops, shared: sharedCounts(database), clock, log },
    onLimited: meter.limited,
  })
  const paymentGate = createPaymentGate({ checkout, rails, limiter, limits })
  const selling = { routes: table, checkout, limiter, paymentGate, random, log }
  const references = rails.map(({ reference }) => reference)
  const mcp = createMcp({ ...selling, config, references, version: VERSION })
  const others = new Map<string, Other>([['/mcp', { host: mcpBaseUrl(http), handle: mcp }]])
  const addressOf = createClientFinder(http.proxyHops)
  const admission = createAdmission({
    ...{ token: config.operatorToken, console: config.operators.console },
    ...{ http, database, limiter, clock, addressOf },
  })
  // Without a token and without sessions nobody can tell that there are such routes.
  const isRun = config.operatorToken !== null || config.operators.console
  const operatorRoutes = isRun ? operations.operatorRoutes(checkout, admission) : []
  const operatorParts = { routes: operatorRoutes, admission, limits, clock, random }
  const record = (doer: Doer, deed: Deed) =>
    recordDeed(database, doer, deed).catch((error) =>
      log.error('a call of an operator is missing in the audit log', { ...deed, by: doer.by, error }),
    )
  const handlers = operatorHandlers({ ...operatorParts, record })
  const shop = config.operators.console ? consoleShop(config, rails) : null
  for (const [path, other] of withConsole(handlers, shop, limiter)) others.set(path, { host: 'both', ...other })
  for (const [path, handle] of assetHandlers(limiter)) others.set(path, { host: 'both', handle })
  const app = createHttpApp({ ...selling, factsOf: documents.factsOf, others, http, limits, observe: meter.answered })
  return { app, table, operatorRoutes, limiter }
}

function consoleShop({ service, mode }: Config, kinds: readonly RailKind[]): ConsoleShop {
  const rails = kinds.map(({ name, label }) => ({ name, label }))
  return { name: service.name, isSandbox: mode === 'sandbox', rails }
}

function shelvesOf(open: ReadonlyMap<SurfaceName, OpenSurface>): readonly Shelf[] {
  return [...open.values()].flatMap(({ shelf = [] }) => shelf)
}

function orderJobs(database: Database): OrderJobs {
  return {
    begin: (key, leaseSeconds) => enqueueLeased(database, { kind: 'order', key, leaseSeconds }),
    forget: (lease) => forget(database, lease),
    claim: (limit, leaseSeconds) => claim(database, { kinds: ['order'], limit, leaseSeconds }),
    extend: (lease, leaseSeconds) => extend(database, lease, leaseSeconds),
    release: (lease, delaySeconds, priority) => release(database, lease, delaySeconds, priority),
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

/** The embedded engine has one process, which knows all there is to count. */
function sharedCounts(database: Database): SharedCounts | null {
  if (database.engine === 'embedded') return null
  return {
    add: (reports) => addHits(database, reports, 2 * RATE_WINDOW_SECONDS),
    forget: () => forgetHits(database),
  }
}
