import { arrivalRows } from '../api/operator/arrival-rows.ts'
import { type EventLog, streamEvents } from '../api/operator/event-stream.ts'
import { healthRows } from '../api/operator/health-rows.ts'
import type { ShopMeter } from '../api/operator/metrics.ts'
import { orderRows } from '../api/operator/order-rows.ts'
import { playerRows } from '../api/operator/player-rows.ts'
import type { OperatorRoute } from '../api/operator/route.ts'
import { operatorRows } from '../api/operator/rows.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { Exchange } from '../base/outgoing.ts'
import { createWakeSignal, type WakeSignal } from '../base/wake-signal.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { ChainAccess } from '../chain/access.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { createLedgerGate, type LedgerGate } from '../checkout/ledger-gate.ts'
import { decideArrival } from '../checkout/orphans.ts'
import { reconcile } from '../checkout/reconcile.ts'
import type { ReconcileContext } from '../checkout/reconcile-context.ts'
import { startReconciler } from '../checkout/reconciler.ts'
import type { Config } from '../config/config.ts'
import type { Journal } from '../domain/journal.ts'
import type { Route } from '../domain/route.ts'
import { presentArrival, REFUND_AT_LEAST } from '../domain/till.ts'
import { arrivalsBy, arrivalsFrom, listFound } from '../store/arrival-list.ts'
import type { Database } from '../store/db.ts'
import { lastPosition, readEvents } from '../store/events.ts'
import { createGameCalls } from '../store/game-calls.ts'
import { hurry } from '../store/jobs.ts'
import { listOrders, sumOrders } from '../store/order-list.ts'
import type { Orders } from '../store/orders.ts'
import { createPlayers } from '../store/players.ts'
import type { ShopTerms } from '../store/shop-terms.ts'
import { readTimeline } from '../store/timeline.ts'
import { createWebhooks, type Webhooks } from '../webhooks/endpoints.ts'
import { RETRY_SECONDS } from '../webhooks/lane.ts'
import { createPost, type Post, systemResolve } from '../webhooks/post.ts'
import { pumpEvents } from '../webhooks/pump.ts'
import type { Resolve } from '../webhooks/target.ts'
import { startWebhookWorker } from '../webhooks/worker.ts'
import { readGauges } from './gauges.ts'
import { createHealth } from './health.ts'
import type { OpenRail } from './rails.ts'
import { createSigners, isJournalBehind } from './signers.ts'
import { createTills } from './tills.ts'
import { readWallets } from './wallets.ts'

export type OperationsParts = {
  readonly config: Config
  readonly database: Database
  readonly journal: Journal
  readonly rails: readonly OpenRail[]
  readonly chainOf: (chain: Config['game']['chain']) => ChainAccess
  readonly meter: ShopMeter
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

/** Everything around the counter that keeps an eye on it: events, webhooks, the books, health and figures. */
export type Operations = {
  readonly reconcileContext: ReconcileContext
  readonly gate: LedgerGate
  readonly webhooks: Webhooks
  readonly events: EventLog
  /** Health and keys: rows of the public table. */
  publicRoutes(checkout: Checkout): readonly Route[]
  operatorRoutes(checkout: Checkout): readonly OperatorRoute[]
  /** Something happened in this process. */
  wake(): void
  start(): void
  /** Ends streams and puts down what is at hand. */
  stop(): Promise<void>
}

/** Reorganisations deeper than this have not been seen where we sell. */
const RESCAN_BLOCKS = 128n

export function createOperations(parts: OperationsParts): Operations {
  const {
    config,
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
    exchange,
    resolve = systemResolve,
  } = parts
  const { operations, limits, blockedPayers } = config
  const signers = createSigners(config, chainOf)
  const tills = createTills({ rails, signers, database, past, log })
  const reconcileContext: ReconcileContext = {
    db: database,
    tills,
    clock,
    random,
    log,
    policy: {
      orphanAfterSeconds: operations.orphanAfterSeconds,
      refundAfterSeconds: operations.orphanRefundSeconds,
      refundsOrphans: operations.orphans === 'refund',
      refundAtLeast: REFUND_AT_LEAST,
      refundsPerDay: limits.refundsPerDay,
      rescanBlocks: RESCAN_BLOCKS,
      silenceSecondsMax: (2 * limits.challengeTtlMs) / 1000,
    },
    isBlocked: (payer) => blockedPayers.has(payer.toLowerCase()),
    refundedToday: () => orders.refundedToday(),
  }
  const gate = createLedgerGate(reconcileContext, () => isJournalBehind(signers, journal))
  const policy = { allowLoopback: operations.webhookLoopback }
  const webhooks = createWebhooks({ db: database, random, resolve, policy, onChanged: () => lookAround() })
  const wallets = () => readWallets(signers, tills, operations)
  const chains = [...new Map(signers.map(({ rpc, head }) => [rpc, { rpc, head }])).values()]
  const health = createHealth({ config, database, chains, gate, wallets, clock, exchange })
  const stopping = new AbortController()
  const listeners = new Set<WakeSignal>()
  const running: { stop(): Promise<void> }[] = []
  let wake = () => {}
  let lookAround = () => {}

  const events: EventLog = {
    async read(after, limit) {
      await pumpEvents(database)
      return readEvents(database, after, limit)
    },
    async last() {
      await pumpEvents(database)
      return lastPosition(database)
    },
    stream: (after) => streamEvents({ db: database, clock, waitForNews, stop: stopping.signal }, after),
  }

  async function waitForNews(ms: number): Promise<void> {
    const wakeSignal = createWakeSignal(clock)
    listeners.add(wakeSignal)
    await wakeSignal.wait(ms, stopping.signal)
    listeners.delete(wakeSignal)
  }

  return {
    reconcileContext,
    gate,
    webhooks,
    events,
    publicRoutes: (checkout) => healthRows(health, checkout.receipts.jwks),
    operatorRoutes: (checkout) => [
      ...operatorRows({
        checkout,
        events,
        webhooks,
        reconcile: () => reconcile(reconcileContext),
        async decideArrival(id, decision) {
          const { arrival, till } = await decideArrival(reconcileContext, id, decision)
          return presentArrival(arrival, till)
        },
        metrics: async () => meter.print(await readGauges(database, wallets)),
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
        async decide(orderId, outcome, by) {
          const calls = createGameCalls(database)
          const call = await calls.find(orderId)
          if (call && clock.now() < call.sentAt + limits.gameRequestLifeMs) return 'too_early'
          if (!(await calls.decide(orderId, outcome, by))) return 'nothing_to_decide'
          log.warn('an operator decided about a delivery', { orderId, outcome, by })
          return 'taken'
        },
      }),
      ...(config.game.backend.kind === 'embedded'
        ? playerRows({ players: createPlayers(database), random, nicknameLengthMax: limits.nicknameLengthMax })
        : []),
    ],
    wake: () => wake(),
    start() {
      const worker = startWebhookWorker({
        db: database,
        post: parts.post ?? createPost({ clock, resolve, policy }),
        retrySeconds: RETRY_SECONDS,
        clock,
        random,
        log,
        waypoint,
        observe: meter.webhook,
        onPlaced() {
          for (const wakeSignal of listeners) wakeSignal.ring()
        },
      })
      wake = worker.wake
      lookAround = worker.lookAround
      running.push(worker, startReconciler(reconcileContext, operations.reconcileSeconds))
    },
    async stop() {
      stopping.abort()
      await Promise.all(running.map((one) => one.stop()))
    },
  }
}
