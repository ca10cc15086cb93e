import type { Admission } from '../api/operator/admission.ts'
import type { EventLog } from '../api/operator/event-stream.ts'
import { healthRows } from '../api/operator/health-rows.ts'
import type { ShopMeter } from '../api/operator/metrics.ts'
import type { OperatorRoute } from '../api/operator/route.ts'
import type { DoctorReport } from '../api/operator/system-rows.ts'
import type { Address } from '../base/address.ts'
import { cachedRead } from '../base/cached-read.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { Exchange } from '../base/outgoing.ts'
import type { Waypoint } from '../base/waypoint.ts'
import { isTokenPaused } from '../chain/tokens.ts'
import type { Checkout } from '../checkout/checkout.ts'
import type { Config } from '../config/config.ts'
import type { SurfaceName } from '../domain/good.ts'
import type { Offer, OfferKey } from '../domain/offer.ts'
import type { ReceivingAccount } from '../domain/receiving-account.ts'
import type { Route } from '../domain/route.ts'
import type { ReconcileContext } from '../ledger/reconcile-context.ts'
import { type Reconciler, startReconciler } from '../ledger/reconciler.ts'
import { createStoreGate, type StoreGate } from '../ledger/store-gate.ts'
import type { ChainAccess } from '../outbox/access.ts'
import type { RailAccount } from '../rails/kind.ts'
import type { Database } from '../store/db.ts'
import type { Orders } from '../store/orders/orders.ts'
import { knownKeys } from '../store/sends/keys.ts'
import type { ShopTerms } from '../store/shop-terms.ts'
import type { KeyRight, OpenSurface } from '../surfaces/surface.ts'
import { RETRY_SECONDS } from '../webhooks/endpoint-queue.ts'
import { createWebhooks, type Webhooks } from '../webhooks/endpoints.ts'
import { systemResolve } from '../webhooks/names.ts'
import { createPost, type Post } from '../webhooks/post.ts'
import type { Resolve } from '../webhooks/target.ts'
import { startWebhookWorker, type WebhookWorker } from '../webhooks/worker.ts'
import { openEventLog } from './event-log.ts'
import { readGauges } from './gauges.ts'
import { createHealth, type HealthRail, type HealthWatch } from './health.ts'
import type { HouseRules } from './house-rules.ts'
import { createJanitor, type Janitor } from './janitor.ts'
import { createLookout, type Lookout } from './lookout.ts'
import { operatorRoutes } from './operator-routes.ts'
import { type OpenRail, sellingRails } from './rails.ts'
import { createReceivingAccounts } from './receiving-accounts.ts'
import type { ReplicaVoice } from './replica.ts'
import { countSends, type RoleSigner } from './signers.ts'
import type { Tally } from './tally.ts'
import { readWallets } from './wallets.ts'

type OperationsParts = {
  readonly config: Config
  /** Where the rails are paid, and were. */
  readonly accounts: readonly RailAccount[]
  readonly database: Database
  /** The keys that it works with. */
  readonly signers: readonly RoleSigner[]
  /** Those, and all that it or another replica has ever worked with. */
  readonly ownKeys: readonly Address[]
  readonly rails: readonly OpenRail[]
  /** What is sold. */
  readonly open: ReadonlyMap<SurfaceName, OpenSurface>
  readonly offers: ReadonlyMap<OfferKey, Offer>
  readonly chainOf: (chain: Config['game']['chain']) => ChainAccess
  readonly meter: ShopMeter
  readonly tally: Tally
  readonly rules: HouseRules
  readonly replica: ReplicaVoice
  readonly doctor: (() => Promise<DoctorReport>) | undefined
  /** Between two looks around. */
  readonly lookMs: number
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly waypoint: Waypoint
  readonly orders: Orders
  readonly past: readonly ShopTerms[]
  readonly exchange: Exchange
  /** Names of webhook receivers; tests bring their own. */
  readonly resolve?: Resolve | undefined
  /** Carries webhooks; over the network unless a test brings its own way. */
  readonly post?: Post | undefined
}

/** Everything around the checkout that keeps an eye on it: events, webhooks, the books, health and figures. */
export type Operations = {
  readonly reconcileContext: ReconcileContext
  readonly gate: StoreGate
  readonly webhooks: Webhooks
  readonly events: EventLog
  readonly health: HealthWatch
  readonly lookout: Pick<Lookout, 'look'>
  readonly janitor: Pick<Janitor, 'sweep'>
  /** Health and keys: rows of the public table. */
  publicRoutes(checkout: Checkout): readonly Route[]
  operatorRoutes(checkout: Checkout, admission: Admission): readonly OperatorRoute[]
  /** Something happened in this process. */
  wake(): void
  start(): void
  /** Ends streams and puts down what is at hand. */
  stop(): Promise<void>
}

/** Roles change seldom, and whoever needs one finds out when it is gone. */
const RIGHTS_MS = 60_000

export function createOperations(parts: OperationsParts): Operations {
  const { config, database, signers, rails, open, meter, clock, random, log, waypoint } = parts
  const { operations } = config
  const { resolve = systemResolve, exchange } = parts
  const receiving = createReceivingAccounts(parts)
  const reconcileContext = reconcileContextOf(parts, receiving)
  const gate = storeGateOf(parts)
  const policy = { allowLoopback: operations.webhookLoopback }
  const post = parts.post ?? createPost({ clock, resolve, policy })
  const hooked = { db: database, random, clock, resolve, policy, post }
  const webhooks = createWebhooks({ ...hooked, onChanged: () => worker?.lookAround() })
  const wallets = () => readWallets(signers, receiving, operations)
  const chains = [...new Map(signers.map(({ rpc, head }) => [rpc, { rpc, head }])).values()]
  const remote = signers.filter(({ isRemote }) => isRemote)
  const sold = [...parts.offers.values()].filter(({ rail }) => sellingRails(rails).includes(rail))
  const selling = {
    rails: healthRails(parts),
    surfaces: open,
    offers: sold,
    signers: remote,
    pauses: parts.rules.pauses,
  }
  const health = createHealth({ database, chains, ...selling, gate, wallets, clock, exchange })
  const events = openEventLog(database, clock)
  const watched = { database, clock, random, log, chains, surfaces: open, health: health.read, wallets }
  const lookout = createLookout({
    ...watched,
    rights: rightsOf(parts),
    closed: gate.trouble,
    report: parts.replica.report,
    onTold: () => worker?.wake(),
    everyMs: parts.lookMs,
  })
  const janitor = createJanitor({ database, clock, log, keepMs: operations.keepMs, onDeleted: meter.deleted })
  const metrics = async () => meter.print(await readGauges({ ...watched, rails }))
  let worker: WebhookWorker | undefined
  let reconciler: Reconciler | undefined

  return {
    reconcileContext,
    gate,
    webhooks,
    events,
    health,
    lookout,
    janitor,
    publicRoutes: (checkout) => healthRows(health.read, checkout.receipts.jwks),
    operatorRoutes: (checkout, admission) =>
      operatorRoutes({ ...parts, events, webhooks, metrics, reconcileContext, admission }, checkout),
    wake: () => worker?.wake(),
    start() {
      const told = { observe: meter.webhook, onPlaced: events.announce }
      worker = startWebhookWorker({ ...hooked, ...told, retrySeconds: RETRY_SECONDS, log, waypoint })
      reconciler = startReconciler(reconcileContext, operations.reconcileSeconds)
      lookout.start()
      janitor.start()
      parts.tally.start()
    },
    async stop() {
      events.close()
      await Promise.all([worker?.stop(), reconciler?.stop(), lookout.stop(), janitor.stop(), parts.tally.stop()])
      await parts.replica.leave().catch(() => {})
    },
  }
}

function storeGateOf({ config, database: db, clock, log, signers }: OperationsParts): StoreGate {
  return createStoreGate({
    db,
    clock,
    log,
    countSends: () => countSends(signers, () => knownKeys(db)),
    isStandbySynchronous: config.store.standby === 'synchronous',
  })
}

function rightsOf({ open, clock }: OperationsParts): () => Promise<readonly KeyRight[]> {
  return cachedRead(clock, RIGHTS_MS, async () => {
    const each = await Promise.all([...open.values()].map(({ rights }) => rights?.() ?? []))
    return each.flat()
  })
}

/** Those that sell. A key beside the treasury is one that settles. */
function healthRails({ accounts, rails, chainOf }: OperationsParts): readonly HealthRail[] {
  return accounts
    .filter(({ isSelling }) => isSelling)
    .map(({ rail: name, chain, outside, otherKeys }) => {
      const settlers = chain.paysGasInCoin ? otherKeys.map(({ key }) => chainOf(chain).sender(key)) : []
      const asset = rails.find(({ isSelling, rail }) => isSelling && rail.name === name)?.rail.asset
      const isPaused = async () => asset !== undefined && isTokenPaused(chainOf(chain).rpc, asset)
      return { name, chainId: chain.chainId, outside, settlers, isTokenPaused: isPaused }
    })
}

function reconcileContextOf(parts: OperationsParts, accounts: readonly ReceivingAccount[]): ReconcileContext {
  const { config, database, clock, random, log, rules } = parts
  const { operations, limits } = config
  return {
    db: database,
    accounts,
    clock,
    random,
    log,
    policy: {
      returnAfterSeconds: operations.returnAfterSeconds,
      returnsUnmatched: operations.unmatched === 'return',
      refundsPerDay: limits.refundsPerDay,
      receiverRefundPercent: limits.receiverRefundPercent,
    },
    isBlocked: rules.isBlocked,
  }
}
