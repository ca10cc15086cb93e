import type { OutgoingRequest } from '../../src/base/outgoing.ts'
import type { Config } from '../../src/config/config.ts'
import { attack, enemyOf, type Move } from './actors/enemy.ts'
import { createFacilitator, FACILITATOR_URL } from './actors/facilitator.ts'
import { createGame, GAME_SECRET, GAME_URL, type Game } from './actors/game.ts'
import { createOperator, OPERATOR_TOKEN, type Operator } from './actors/operator.ts'
import { buy, purchasesOf } from './actors/payer.ts'
import { createReceiver, type Receiver } from './actors/receiver.ts'
import type { Purchase } from './book.ts'
import { type Chance, chanceOf } from './chance.ts'
import { type Coverage, countOther, newCoverage } from './coverage.ts'
import type { StoreTime } from './engine.ts'
import { type Bounds, REFILL, refill, setFloat, watchExposure, withBounds } from './exposure.ts'
import { aimOf, type Fault, type FaultKind, planOf } from './faults.ts'
import { createFleet, type Fleet } from './fleet.ts'
import { goodsFor } from './goods.ts'
import { type NodeKind, nodeKindsOf } from './nodes.ts'
import { enterUniverse } from './process.ts'
import { createScheduler, type Scheduler } from './scheduler.ts'
import type { SimStore } from './store.ts'
import { createStrikes, type Strikes } from './strikes.ts'
import { startWeather } from './weather.ts'
import type { SimWorld } from './world.ts'

/** What all universes of a process share, one after the other. */
export type Stage = { readonly world: SimWorld; readonly store: SimStore; readonly time: StoreTime }

export type UniverseOptions = {
  /** Instead of what the seed planned. */
  readonly plan?: readonly Fault[]
  /** Only faults of these kinds. */
  readonly kinds?: readonly FaultKind[]
  /** Everybody buys goods whose name begins so. */
  readonly goods?: string
  /** There is an enemy who knows this trick. */
  readonly enemy?: Move
  /** Only these purchases, by their number. */
  readonly only?: readonly number[]
  readonly isTold?: boolean
}

/** The seed's choice of a shop. */
type Setting = {
  readonly replicas: number
  readonly game: 'embedded' | 'http'
  readonly facilitator: 'inproc' | 'remote'
  /** How many nodes each chain is asked through. */
  readonly nodes: number
  /** Somebody looks after what only a person can decide, and not only when all is over. */
  readonly isWatched: boolean
  /** Can the game say what became of an order? */
  readonly hasMemory: boolean
  /** How much may be promised at once, where that is little. */
  readonly bounds: Bounds | null
}

export type Universe = {
  readonly seed: number
  readonly sim: Scheduler
  readonly world: SimWorld
  readonly store: SimStore
  readonly plan: readonly Fault[]
  readonly purchases: readonly Purchase[]
  readonly game: Game | null
  readonly receiver: Receiver
  readonly operator: Operator
  readonly coverage: Coverage
  readonly config: Config
  readonly nodes: readonly NodeKind[]
  readonly fleet: Fleet
  /** What the shop logged that no world can cause. */
  readonly blunders: readonly string[]
  /** More was open at once than the shop's bounds allow. */
  readonly excesses: readonly string[]
  /** Payers that have not left yet. */
  open(): number
  /** The next one who passes this label stops there. */
  hold(label: string, ms: number): void
  fork: Strikes['fork']
  /** The store is taken back to its backup; once. */
  restore(): boolean
  wasRestored(): boolean
  isHealing(): boolean
  heal(): void
  end(): void
}

export async function openUniverse(seed: number, stage: Stage, options: UniverseOptions = {}): Promise<Universe> {
  const { world, store, time } = stage
  const plan = options.plan ?? planOf(seed, options.kinds)
  const aim = options.plan ? null : aimOf(seed)
  const setting = settingOf(seed, isOfGame(options.goods ?? aim?.label ?? ''))
  const coverage = newCoverage()
  const sim = createScheduler({
    chance: chanceOf(seed, 'order'),
    isTold: options.isTold ?? false,
    onStep: (actor, label) => strikes.onStep(actor, label),
  })
  const now = () => sim.now() + (time.isAsked > 0 ? 0 : (sim.current()?.clockOffMs ?? 0))
  enterUniverse(now, chanceOf(seed, 'crypto'))
  world.setTime(sim.now)
  await store.reset()
  await world.rewind()
  const { game, receiver, partner } = partnersOf(world, sim, setting, () => strikes)
  const { bounds } = setting
  if (bounds) await setFloat(world, bounds)
  const config = configOf(world.config, setting)
  if (bounds) countOther(coverage, `${bounds.openOrdersPerPayer} promises a payer and ${bounds.float} to send back`)
  const exposure = watchExposure(store, bounds ?? { ...config.limits, float: FLOAT })
  const blunders: string[] = []
  const onBlunder = (line: string) => void blunders.push(line.trim())
  const post = receiver.post
  const nodes = nodeKindsOf(seed, setting.nodes)
  const parts = {
    seed,
    sim,
    world,
    store,
    config,
    nodes,
    strikes: () => strikes,
    partner,
    post,
    onBlunder,
    onOpened: exposure.look,
  }
  const fleet = createFleet(parts)
  const strikes = createStrikes({
    plan,
    world,
    now: sim.now,
    coverage,
    tell: sim.tell,
    kill: fleet.kill,
    bringBack(raw, afterMs) {
      void sim
        .clockOf(sim.actor('another node'))
        .sleep(afterMs)
        // Its nonce may have been used meanwhile.
        .then(() =>
          sim.work(() => world.native.ask({ method: 'eth_sendRawTransaction', params: [raw] }).catch(() => {})),
        )
    },
  })
  const enemy = enemyOf(seed, world.payers, options.enemy)
  const goods = goodsFor(setting.game, options.goods)
  const payers = purchasesOf(seed, goods, world.payers, aim?.label ?? null)
  const isThere = ({ index }: Purchase) => options.only?.includes(index) ?? true
  const purchases = [...payers, ...(enemy ? [enemy.purchase] : [])].filter(isThere)
  let open = purchases.length
  let isHealing = false
  let wasRestored = false
  const universe: Universe = {
    ...{ seed, sim, world, store, plan, purchases, game, receiver, coverage, config, nodes, fleet, blunders },
    excesses: exposure.found,
    get operator() {
      return operator
    },
    open: () => open,
    hold: strikes.hold,
    fork: strikes.fork,
    restore() {
      const isFirst = !wasRestored
      wasRestored = true
      return isFirst
    },
    wasRestored: () => wasRestored,
    isHealing: () => isHealing,
    heal() {
      isHealing = true
      strikes.heal()
      fleet.setClock('all', 0)
      // Transactions that a node sits on go their way.
      void sim.work(() => world.native.ask({ method: 'dev_clearFaults' }))
      if (!bounds) return
      exposure.raise(REFILL)
      void sim.work(() => refill(world))
    },
    end: fleet.end,
  }
  const operator = createOperator(universe)
  for (let index = 0; index < setting.replicas; index++) fleet.start(index)
  startWeather(universe)
  startOperator(universe, setting)
  for (const purchase of purchases) {
    const isEnemy = enemy?.purchase === purchase
    const actor = sim.actor(`${isEnemy ? 'enemy' : 'payer'}${purchase.index}`)
    const errand = isEnemy ? attack(universe, purchase, enemy.move, actor) : buy(universe, purchase, actor)
    void errand.finally(() => open--)
  }
  return universe
}

/** Everybody outside, each as the plan has them at the moment. */
function partnersOf(world: SimWorld, sim: Scheduler, { game: kind, hasMemory }: Setting, strikes: () => Strikes) {
  const usually = hasMemory ? null : 'never remembers'
  const game = kind === 'http' ? createGame(world.payers, sim.now, () => strikes().manner('game') ?? usually) : null
  const receiver = createReceiver(() => strikes().manner('receiver'))
  const facilitator = createFacilitator(world.native, () => strikes().manner('facilitator'))
  const partner = (request: OutgoingRequest) =>
    game && request.url.startsWith(GAME_URL) ? game.partner(request) : facilitator(request)
  return { game, receiver, partner }
}

const ROUND_MS = 45_000

function startOperator({ plan, sim, operator, isHealing }: Universe, { isWatched }: Setting): void {
  void operator.register()
  const watch = async () => {
    await sim.clockOf(operator.actor).sleep(ROUND_MS)
    if (isHealing()) return
    await operator.tidyUp()
    void watch()
  }
  if (isWatched) void watch()
  for (const fault of plan) {
    if (fault.kind !== 'operator') continue
    void sim
      .clockOf(operator.actor)
      .sleep(fault.atMs)
      .then(() => operator.do(fault.deed))
  }
}

/** Goods and labels that only a studio's own game has. */
function isOfGame(name: string): boolean {
  return /^item (gems|airship)|^at game|^game |game_calls/.test(name)
}

function settingOf(seed: number, needsGame: boolean): Setting {
  const chance = chanceOf(seed, 'setting')
  return {
    replicas: 2 + (chance.happens(0.3) ? 1 : 0),
    game: chance.happens(0.7) || needsGame ? 'http' : 'embedded',
    facilitator: chance.happens(0.25) ? 'remote' : 'inproc',
    nodes: chance.happens(0.3) ? 2 : 1,
    hasMemory: chance.happens(needsGame ? 0.5 : 0.7),
    isWatched: chance.happens(0.5),
    bounds: chance.happens(0.15) ? boundsOf(chance) : null,
  }
}

/** What the treasury of every other universe has. */
const FLOAT = 10_000n * 10n ** 6n

function boundsOf(chance: Chance): Bounds {
  return { openOrdersPerPayer: chance.pick([1, 2]), float: chance.pick([1n, 3n, 8n]) * 10n ** 6n }
}

function configOf(plain: Config, { game, facilitator, bounds }: Setting): Config {
  const config = bounds ? withBounds(plain, bounds) : plain
  const x402 = config.x402!
  return {
    ...config,
    operatorToken: OPERATOR_TOKEN,
    x402: {
      ...x402,
      ...(facilitator === 'remote' ? { facilitator: { kind: 'remote', url: FACILITATOR_URL, headers: {} } } : {}),
    },
    game: {
      ...config.game,
      backend: game === 'http' ? { kind: 'http', url: GAME_URL, secret: GAME_SECRET } : { kind: 'embedded' },
    },
  }
}
