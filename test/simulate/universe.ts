import type { OutgoingRequest } from '../../src/base/outgoing.ts'
import type { Config } from '../../src/config/config.ts'
import { attack, enemyOf } from './actors/enemy.ts'
import { createFacilitator, FACILITATOR_URL } from './actors/facilitator.ts'
import { createGame, GAME_SECRET, GAME_URL, type Game } from './actors/game.ts'
import { createOperator, OPERATOR_TOKEN, type Operator } from './actors/operator.ts'
import { buy, purchasesOf } from './actors/payer.ts'
import { createReceiver, type Receiver } from './actors/receiver.ts'
import type { Purchase } from './book.ts'
import { type Chance, chanceOf } from './chance.ts'
import { type Coverage, newCoverage } from './coverage.ts'
import type { MemoryStore, StoreTime } from './engine.ts'
import { type Fault, planOf } from './faults.ts'
import { gateOf } from './gate.ts'
import { enterUniverse } from './process.ts'
import { type Replica, startReplica } from './replica.ts'
import { type Asked, askApp, type Heard } from './request.ts'
import { type Actor, createScheduler, type Scheduler } from './scheduler.ts'
import { gatedDatabase, newMemory } from './store-gate.ts'
import { createStrikes, type Strikes } from './strikes.ts'
import { startWeather } from './weather.ts'
import type { SimWorld } from './world.ts'

/** What all universes of a process share, one after the other. */
export type Stage = { readonly world: SimWorld; readonly store: MemoryStore; readonly time: StoreTime }

export type UniverseOptions = {
  /** Instead of what the seed planned. */
  readonly plan?: readonly Fault[]
  /** Only these purchases, by their number. */
  readonly only?: readonly number[]
  readonly isTold?: boolean
}

/** The seed's choice of a shop. */
export type Setting = {
  readonly replicas: number
  readonly game: 'embedded' | 'http'
  readonly facilitator: 'inproc' | 'remote'
}

export type Universe = {
  readonly seed: number
  readonly sim: Scheduler
  readonly world: SimWorld
  readonly store: MemoryStore
  readonly config: Config
  readonly setting: Setting
  readonly plan: readonly Fault[]
  readonly purchases: readonly Purchase[]
  readonly game: Game | null
  readonly receiver: Receiver
  readonly operator: Operator
  readonly strikes: Strikes
  readonly coverage: Coverage
  /** Asks a replica that the asker picks; null when there is none, or when its answer gets lost. */
  ask(chance: Chance, asker: Actor, asked: Asked, from: string): Promise<Heard | null>
  /** Payers that have not left yet. */
  open(): number
  isHealing(): boolean
  heal(): void
  end(): void
}

export async function openUniverse(seed: number, stage: Stage, options: UniverseOptions = {}): Promise<Universe> {
  const { world, store, time } = stage
  const plan = options.plan ?? planOf(seed)
  const setting = settingOf(seed)
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
  const config = configOf(world.config, setting)
  const healer = sim.actor('world')
  const replicas: (Replica | null)[] = []
  const lives: number[] = []
  let isHealing = false
  const strikes = createStrikes({
    plan,
    world,
    now: sim.now,
    coverage,
    tell: sim.tell,
    kill(actor, backAfterMs) {
      const index = Number(/^shop(\d+)/.exec(actor.name)![1])
      sim.kill(actor)
      replicas[index] = null
      void sim
        .clockOf(healer)
        .sleep(backAfterMs)
        .then(() => start(index))
    },
  })
  const game = setting.game === 'http' ? createGame(world.payers, sim.now, () => strikes.manner('game')) : null
  const receiver = createReceiver(() => strikes.manner('receiver'))
  const facilitator = createFacilitator(world.native, () => strikes.manner('facilitator'))
  const partner = (request: OutgoingRequest) =>
    request.url.startsWith(GAME_URL) ? game!.partner(request) : facilitator(request)
  const memory = newMemory()
  const wires = chanceOf(seed, 'wires')

  /** A process starts, and is started again if that fails. */
  function start(index: number): void {
    lives[index] = (lives[index] ?? 0) + 1
    const actor = sim.actor(`shop${index}.${lives[index]}`)
    actor.clockOffMs = strikes.clockOffMs(index)
    const gate = gateOf(sim, actor, wires, strikes.mishap)
    const chains = [world.native, world.tempo]
    startReplica({
      sim,
      actor,
      config,
      gate,
      database: gatedDatabase(sim, store.db, gate, memory),
      nodes: chains.map((chain) => ({ chain, node: chain.node(strikes.lags) })),
      random: chanceOf(seed, actor.name),
      partner,
      post: receiver.post,
    }).then(
      (replica) => {
        replicas[index] = replica
        sim.tell(`${actor.name} is open`)
      },
      (error: Error) => {
        sim.tell(`${actor.name} could not start: ${error.message}`)
        sim.kill(actor)
        void sim
          .clockOf(healer)
          .sleep(1_000)
          .then(() => start(index))
      },
    )
  }

  async function ask(chance: Chance, asker: Actor, asked: Asked, from: string): Promise<Heard | null> {
    await sim.point(asker, `asks ${asked.path.split('?')[0]!.replace(/ord_\w+|arr_\w+/, '{id}')}`)
    const open = replicas.filter((one) => one !== null && one !== undefined)
    if (open.length === 0) return null
    const { actor, app } = chance.pick(open)
    await sim.point(actor, 'http request')
    const heard = await askApp(app, asked, from)
    await sim.point(actor, 'http answer')
    const { lost, delayMs } = strikes.mishap(actor, 'http answer')
    await sim.clockOf(asker).sleep(1 + wires.below(40) + delayMs)
    return lost ? null : heard
  }

  const enemy = enemyOf(seed, world.payers)
  const purchases = [...purchasesOf(seed, setting.game, world.payers), ...(enemy ? [enemy.purchase] : [])].filter(
    ({ index }) => options.only?.includes(index) ?? true,
  )
  let open = purchases.length
  const universe: Universe = {
    ...{ seed, sim, world, store, config, setting, plan, purchases, game, receiver, strikes, coverage, ask },
    get operator() {
      return operator
    },
    open: () => open,
    isHealing: () => isHealing,
    heal() {
      isHealing = true
      strikes.heal()
      for (const replica of replicas) if (replica) replica.actor.clockOffMs = 0
    },
    end() {
      for (const replica of replicas) if (replica) sim.kill(replica.actor)
    },
  }
  const operator = createOperator(universe)
  for (let index = 0; index < setting.replicas; index++) start(index)
  startWeather(universe)
  void operator.register()
  startOperatorDeeds(universe)
  for (const purchase of purchases) {
    const actor = sim.actor(`${purchase.habit === 'enemy' ? 'enemy' : 'payer'}${purchase.index}`)
    const errand =
      enemy?.purchase === purchase ? attack(universe, purchase, enemy.move, actor) : buy(universe, purchase, actor)
    void errand.finally(() => open--)
  }
  return universe
}

function startOperatorDeeds({ plan, sim, operator }: Universe): void {
  for (const fault of plan) {
    if (fault.kind !== 'operator') continue
    void sim
      .clockOf(operator.actor)
      .sleep(fault.atMs)
      .then(() => operator.do(fault.deed))
  }
}

function settingOf(seed: number): Setting {
  const chance = chanceOf(seed, 'setting')
  return {
    replicas: 2 + (chance.happens(0.3) ? 1 : 0),
    game: chance.happens(0.7) ? 'http' : 'embedded',
    facilitator: chance.happens(0.25) ? 'remote' : 'inproc',
  }
}

function configOf(config: Config, { game, facilitator }: Setting): Config {
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
