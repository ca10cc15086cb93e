import type { Config } from '../../src/config/config.ts'
import type { Post } from '../../src/webhooks/post.ts'
import type { Partner } from './actors/partner.ts'
import type { SimChain } from './chain.ts'
import { type Chance, chanceOf } from './chance.ts'
import { gateOf } from './gate.ts'
import { byKind, type NodeKind } from './nodes.ts'
import { type Replica, startReplica } from './replica.ts'
import { type Asked, askApp, type Heard } from './request.ts'
import type { Actor, Scheduler } from './scheduler.ts'
import type { SimStore } from './store.ts'
import { forgetAll, newMemory } from './store-gate.ts'
import type { Strikes } from './strikes.ts'
import type { SimWorld } from './world.ts'

/** The replicas of a shop: they start, die, and are started again. */
export type Fleet = {
  start(index: number): void
  kill(actor: Actor, backAfterMs: number): void
  /** Asks a replica that the asker picks; null when there is none, or when its answer gets lost. */
  ask(chance: Chance, asker: Actor, asked: Asked, from: string): Promise<Heard | null>
  /** The clock of one replica jumps; of all: they are right from here on. */
  setClock(index: number | 'all', offMs: number): void
  /** All are stopped; then something is done, and they start again, with another configuration perhaps. */
  /** One after the other, with another configuration. */
  roll(config: Config): void
  /** The one that whoever starts next has. */
  config(): Config
  restart(change: { readonly config?: Config; run?(): Promise<void> }): void
  end(): void
}

export type FleetParts = {
  readonly seed: number
  readonly sim: Scheduler
  readonly world: SimWorld
  readonly store: SimStore
  readonly config: Config
  /** Those that each chain is asked through. */
  readonly nodes: readonly NodeKind[]
  /** Made after this, and used later. */
  strikes(): Strikes
  readonly partner: Partner
  readonly post: Post
  onBlunder(line: string): void
  /** An order was written. */
  onOpened(): Promise<void>
}

const RESTART_MS = 1_000
const STOPPED_MS = 3_000
const ROLL_MS = 5_000
const LATENCY_MS = 40

export function createFleet(parts: FleetParts): Fleet {
  const { seed, sim, world, store, strikes, partner, post, onBlunder } = parts
  let { config } = parts
  const healer = sim.actor('world')
  const replicas: (Replica | null)[] = []
  const lives: number[] = []
  const alive = new Set<Actor>()
  let generation = 0
  const memory = newMemory(parts.onOpened)
  const wires = chanceOf(seed, 'wires')
  const open = () => replicas.filter((one) => one !== null && one !== undefined)

  function startAfter(index: number, ms: number): void {
    const planned = generation
    void sim
      .clockOf(healer)
      .sleep(ms)
      // All of them may have been stopped and started meanwhile.
      .then(() => planned === generation && start(index))
  }

  const waysTo = (chain: SimChain) =>
    parts.nodes.map((kind, index) => byKind(chain, chain.node(index, strikes().haze), kind))

  /** A process starts, and is started again if that fails. */
  function start(index: number): void {
    lives[index] = (lives[index] ?? 0) + 1
    const actor = sim.actor(`shop${index}.${lives[index]}`)
    actor.clockOffMs = strikes().clockOffMs(index)
    alive.add(actor)
    const gate = gateOf(sim, actor, wires, strikes().mishap)
    startReplica({
      sim,
      actor,
      config,
      gate,
      database: store.open({ sim, actor, wires, mishap: strikes().mishap, memory }),
      nodes: [world.native, world.tempo].map((chain) => ({ chain, ways: waysTo(chain) })),
      random: chanceOf(seed, actor.name),
      partner,
      post,
      onBlunder,
    }).then(
      (replica) => {
        replicas[index] = replica
        sim.tell(`${actor.name} is open`)
      },
      (error: Error) => {
        sim.tell(`${actor.name} could not start: ${error.message}`)
        end(actor)
        startAfter(index, RESTART_MS)
      },
    )
  }

  function end(actor: Actor): void {
    sim.kill(actor)
    void sim.work(() => store.hangUp(actor))
  }

  function stop(index: number, actor: Actor): void {
    end(actor)
    alive.delete(actor)
    replicas[index] = null
  }

  return {
    start,
    kill(actor, backAfterMs) {
      const index = Number(/^shop(\d+)/.exec(actor.name)![1])
      stop(index, actor)
      startAfter(index, backAfterMs)
    },
    async ask(chance, asker, asked, from) {
      await sim.point(asker, `asks ${asked.path.split('?')[0]!.replace(/ord_\w+|arr_\w+/, '{id}')}`)
      const awake = open()
      if (awake.length === 0) return null
      const { actor, app } = chance.pick(awake)
      await sim.point(actor, 'http request')
      const heard = await askApp(app, asked, from)
      await sim.point(actor, 'http answer')
      const { lost, delayMs } = strikes().mishap(actor, 'http answer')
      await sim.clockOf(asker).sleep(1 + wires.below(LATENCY_MS) + delayMs)
      return lost ? null : heard
    },
    setClock(index, offMs) {
      for (const [place, replica] of replicas.entries())
        if (replica && (index === 'all' || place === index)) replica.actor.clockOffMs = offMs
    },
    restart(change) {
      for (const actor of alive) end(actor)
      alive.clear()
      const indexes = lives.flatMap((count, index) => (count > 0 ? [index] : []))
      replicas.fill(null)
      generation++
      config = change.config ?? config
      void (async () => {
        await sim.clockOf(healer).sleep(STOPPED_MS)
        if (change.run) await sim.work(change.run)
        forgetAll(memory)
        for (const index of indexes) start(index)
      })()
    },
    config: () => config,
    roll(next) {
      const planned = generation
      config = next
      void (async () => {
        for (const index of lives.keys()) {
          if (planned !== generation) return
          for (const actor of alive) if (actor.name.startsWith(`shop${index}.`)) stop(index, actor)
          start(index)
          await sim.clockOf(healer).sleep(ROLL_MS)
        }
      })()
    },
    end() {
      for (const { actor } of open()) end(actor)
    },
  }
}
