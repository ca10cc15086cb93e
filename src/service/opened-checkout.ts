import { createShopMeter, type ShopMeter } from '../api/operator/metrics.ts'
import { createShopContext, type ShopContext } from '../api/shop/shop-context.ts'
import type { Address } from '../base/address.ts'
import { readSigningKey } from '../base/jws.ts'
import { measuredExchange } from '../base/measured-exchange.ts'
import type { Exchange } from '../base/outgoing.ts'
import { createChainLook } from '../checkout/chain-look.ts'
import type { Checkout, OrderJobs } from '../checkout/checkout.ts'
import { createReceiptSigner } from '../checkout/receipt.ts'
import type { Config } from '../config/config.ts'
import { challengeSecrets } from '../config/rails.ts'
import type { Shelf } from '../domain/catalog.ts'
import type { SurfaceName } from '../domain/good.ts'
import type { Offer, OfferKey } from '../domain/offer.ts'
import type { RailName } from '../domain/rail.ts'
import { fateOf } from '../ledger/shown-payment.ts'
import { accountsOf, addressFinder, type RailAccount } from '../rails/kind.ts'
import type { Database } from '../store/db.ts'
import { claim, enqueueLeased, extend, forget, release } from '../store/jobs.ts'
import { createOrders, type Orders } from '../store/orders/orders.ts'
import { createJournal } from '../store/sends/journal.ts'
import type { ShopTerms } from '../store/shop-terms.ts'
import type { OpenSurface } from '../surfaces/surface.ts'
import { type Chains, createChains } from './chains.ts'
import { createHouseRules, type HouseRules } from './house-rules.ts'
import { pairOffers } from './offers.ts'
import { assertAllFinishable, assertAllReturnable } from './open-orders.ts'
import { createOperations, type Operations } from './operations.ts'
import type { Ground } from './parts.ts'
import { type OpenRail, openRails, recordedTerms, sellingRails, warmUp } from './rails.ts'
import { createNodeTimes, createReplica } from './replica.ts'
import { chainKeys, type RoleSigner, recordedSigners } from './signers.ts'
import { createTally, type Tally } from './tally.ts'
import { createTelling, type Telling } from './telling.ts'

export type OpenedCheckout = {
  readonly checkout: Checkout
  readonly operations: Operations
  readonly meter: ShopMeter
  readonly context: ShopContext
  readonly open: ReadonlyMap<SurfaceName, OpenSurface>
  /** Where the rails that sell are paid. */
  readonly accounts: readonly RailAccount[]
}

/** Rails, goods and books: what sells, whoever asks and however. Each part is made of those above it. */
export async function openCheckout(config: Config, ground: Ground): Promise<OpenedCheckout> {
  const later: Later = { shelves: () => [], wake: () => {} }
  const figures = openFigures(ground, later)
  const chains = openChains(config, ground, figures)
  const payments = await openPayments(config, ground, { figures, chains })
  const goods = await openGoods(config, ground, { figures, chains, payments })
  later.shelves = () => [...goods.open.values()].flatMap(({ shelf = [] }) => shelf)
  const orders = createOrders(ground.database)
  const operations = openOperations(config, ground, { figures, chains, payments, goods, orders })
  later.wake = operations.wake
  await assertAllReturnable(ground.patient, operations.reconcileContext)
  const checkout = createCheckout(config, ground, { figures, payments, goods, orders, operations })
  const { selling, rails, hostOf } = payments
  return {
    checkout,
    operations,
    meter: figures.meter,
    context: createShopContext({
      checkout,
      hostOf,
      mainHost: config.http.baseUrl,
      limits: config.limits,
      rails: sellingRails(rails),
      surfaces: ground.surfaces,
      open: goods.open,
    }),
    open: goods.open,
    accounts: selling,
  }
}

/** What is counted from the first moment on, and tells parts that are made after it. Until they are, nobody has to hear. */
type Later = { shelves: () => readonly Shelf[]; wake: () => void }

type Figures = {
  readonly meter: ShopMeter
  readonly tally: Tally
  readonly nodes: ReturnType<typeof createNodeTimes>
  /** How services outside are asked: each answer is counted under the name of the service. */
  measured(service: string): Exchange
}

function openFigures({ database, clock, log, exchange }: Ground, later: Later): Figures {
  const tally = createTally({ database, clock, log, shelves: () => later.shelves() })
  const meter = createShopMeter({ onMoved: () => later.wake(), onTold: tally.count })
  const nodes = createNodeTimes(meter.chain)
  return {
    meter,
    tally,
    nodes,
    measured: (service) => measuredExchange(exchange, clock, (asked) => meter.outside(service, asked)),
  }
}

function openChains({ limits }: Config, ground: Ground, { nodes }: Figures): Chains {
  const { database, clock, log, waypoint, transports } = ground
  return createChains({
    limits,
    journal: createJournal(database),
    clock,
    log,
    waypoint,
    transports,
    meter: nodes.meter,
  })
}

type Payments = {
  /** Where the rails are paid, and were. */
  readonly accounts: readonly RailAccount[]
  /** Those of them that sell. */
  readonly selling: readonly RailAccount[]
  readonly rails: readonly OpenRail[]
  readonly hostOf: (rail: RailName) => string
  /** What this shop asked for before, by earlier configurations too. */
  readonly past: readonly ShopTerms[]
  readonly signers: readonly RoleSigner[]
  readonly ownKeys: readonly Address[]
}

async function openPayments(
  config: Config,
  ground: Ground,
  { figures, chains }: { readonly figures: Figures; readonly chains: Chains },
): Promise<Payments> {
  const { http, limits, service, operations } = config
  const { clock, random, log, waypoint, patient, surfaces, startsCold } = ground
  const { chainOf } = chains
  const accounts = accountsOf(ground.rails, config)
  const past = await recordedTerms(patient, accounts)
  const { signers, ownKeys } = await recordedSigners(patient, chainKeys(accounts, surfaces, config), chainOf)
  const rails = openRails(accounts, chainOf, {
    http,
    limits,
    clock,
    log,
    waypoint,
    random,
    exchange: figures.measured('facilitator'),
    serviceName: service.name,
    past,
    secondOpinionFrom: operations.secondOpinionFrom,
    challengeSecrets: challengeSecrets(config),
  })
  if (!startsCold) await warmUp(rails, log)
  const selling = accounts.filter(({ isSelling }) => isSelling)
  return { accounts, selling, rails, hostOf: addressFinder(ground.rails, http), past, signers, ownKeys }
}

type Goods = {
  readonly open: ReadonlyMap<SurfaceName, OpenSurface>
  readonly offers: ReadonlyMap<OfferKey, Offer>
  readonly telling: Telling
  readonly rules: HouseRules
}

async function openGoods(
  config: Config,
  ground: Ground,
  made: { readonly figures: Figures; readonly chains: Chains; readonly payments: Payments },
): Promise<Goods> {
  const { clock, random, log, waypoint, database, patient, surfaces } = ground
  const { selling, rails, hostOf, past } = made.payments
  const telling = createTelling({ config, surfaces, hostOf, past })
  const rules = createHouseRules({ database, clock, log, configured: config.blockedPayers })
  const { open, offers } = pairOffers({
    config,
    clock,
    random,
    log,
    waypoint,
    exchange: made.figures.measured('game'),
    database,
    chainOf: made.chains.chainOf,
    surfaces,
    accounts: selling,
    rails,
    telling,
    rules,
  })
  await assertAllFinishable(patient, offers)
  return { open, offers, telling, rules }
}

type Made = {
  readonly figures: Figures
  readonly chains: Chains
  readonly payments: Payments
  readonly goods: Goods
  readonly orders: Orders
}

function openOperations(
  config: Config,
  ground: Ground,
  { figures, chains, payments, goods, orders }: Made,
): Operations {
  const { clock, random, log, waypoint, exchange, database, resolve, post, doctor, lookMs } = ground
  const { meter, tally, nodes } = figures
  const { accounts, rails, signers, ownKeys, past } = payments
  const { open, offers, rules } = goods
  return createOperations({
    config,
    clock,
    random,
    log,
    waypoint,
    exchange,
    database,
    resolve,
    post,
    doctor,
    lookMs,
    meter,
    tally,
    replica: createReplica({ database, clock, random, nodes }),
    chainOf: chains.chainOf,
    accounts,
    rails,
    signers,
    ownKeys,
    past,
    open,
    offers,
    rules,
    orders,
  })
}

function createCheckout(
  { limits, http, receipts }: Config,
  { clock, random, log, waypoint, database }: Ground,
  made: Omit<Made, 'chains'> & { readonly operations: Operations },
): Checkout {
  const { figures, payments, goods, orders, operations } = made
  const { offers, rules, telling } = goods
  return {
    orders,
    jobs: orderJobs(database),
    offers,
    byRecords: telling.byRecords,
    ensureRoom() {
      database.ensureRoom()
      operations.gate.assertOpen()
    },
    assertSelling(surface, rail) {
      operations.gate.assertOpen()
      operations.health.assertSelling(surface, rail)
      return rules.assertUnpaused(rail)
    },
    clock,
    random,
    log,
    waypoint,
    limits,
    store: operations.gate,
    receipts: createReceiptSigner({
      key: readSigningKey(receipts.key),
      retired: receipts.retired,
      issuer: http.baseUrl,
    }),
    meter: figures.meter,
    isBlocked: rules.isBlocked,
    isNeverServed: rules.isNeverServed,
    fateOf: (rail, transaction) => fateOf(operations.reconcileContext, rail, transaction),
    lookAtChain: createChainLook(operations.reconcileContext),
    paymentUrl: (rail, reference) => `${payments.hostOf(rail)}/payments/${reference}`,
    enterWaitingRoom: createWaitingRoom(limits.waitingMax),
    running: new Map(),
  }
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

/** No client has more than this part of the places, so that one who makes transactions up leaves room for the others. */
const SHARE = 1 / 10

/** So many may wait; the next one is told to come back. */
function createWaitingRoom(places: number): Checkout['enterWaitingRoom'] {
  const share = Math.max(1, Math.floor(places * SHARE))
  const waiting = new Map<string, number>()
  let taken = 0
  return (client) => {
    const own = waiting.get(client) ?? 0
    if (taken >= places || own >= share) return null
    taken++
    waiting.set(client, own + 1)
    return () => {
      taken--
      const left = waiting.get(client)! - 1
      if (left === 0) waiting.delete(client)
      else waiting.set(client, left)
    }
  }
}
