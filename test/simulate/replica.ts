import type { HttpApp } from '../../src/api/http/serving.ts'
import { syncedClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { type Exchange, OutgoingFailure } from '../../src/base/outgoing.ts'
import type { RpcTransport } from '../../src/chain/transport.ts'
import type { Config } from '../../src/config/config.ts'
import { type Assembly, assemble } from '../../src/service/assemble.ts'
import { keepTime } from '../../src/service/time.ts'
import type { Database } from '../../src/store/db.ts'
import type { Post } from '../../src/webhooks/post.ts'
import type { Partner } from './actors/partner.ts'
import type { SimChain } from './chain.ts'
import type { Chance } from './chance.ts'
import { waypointLabel } from './faults.ts'
import type { Gate } from './gate.ts'
import type { Actor, Scheduler } from './scheduler.ts'

export type Replica = { readonly actor: Actor; readonly app: HttpApp; readonly shop: Assembly }

export type ReplicaOptions = {
  readonly sim: Scheduler
  readonly actor: Actor
  readonly config: Config
  readonly database: Database
  readonly gate: Gate
  /** The ways to each chain. */
  readonly nodes: readonly { readonly chain: SimChain; readonly ways: readonly RpcTransport[] }[]
  readonly random: Chance
  /** Whoever lives behind an address: the game, a facilitator. */
  readonly partner: Partner
  readonly post: Post
  /** Somebody logged what no world can cause. */
  onBlunder(line: string): void
}

/** Looks around are told to people and decide nothing; at their usual pace they are a third of what a quiet shop asks its chains. */
const LOOK_MS = 30_000

/** A statement that its own schema does not know, or a mistake of ours. */
const BLUNDER = /"code":"42|"name":"(Type|Reference|Range)Error"/

/** The whole shop as one process of the universe. */
export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const { sim, actor, config, database, gate, nodes, random } = options
  const { rpcTimeoutMs } = config.limits
  const clock = syncedClock(sim.clockOf(actor))
  const write = (line: string) => {
    if (BLUNDER.test(line)) options.onBlunder(line)
    sim.note(`${actor.name} log ${line.trim()}`)
  }
  const log = createLog({ level: 'warn', clock, write })
  await keepTime(clock, database, log, new AbortController().signal)
  const gated =
    (node: RpcTransport): RpcTransport =>
    (request) =>
      gate({
        label: `rpc ${request.method}`,
        latencyMs: 40,
        patienceMs: rpcTimeoutMs,
        run: () => node(request),
        failure: () => new Error('the node does not answer'),
      })
  const transports = nodes.map(({ chain, ways }) => [chain.chainId, ways.map(gated)] as const)
  const shop = await assemble(config, {
    clock,
    random,
    log,
    database,
    transports: new Map(transports),
    waypoint: (name) => sim.point(actor, waypointLabel(name)),
    startsCold: true,
    lookMs: LOOK_MS,
    exchange: exchangeWith(options),
    post: gatedPost(gate, options.post),
    resolve: async () => ['93.184.216.34'],
  })
  await shop.begin()
  return { actor, app: shop.app, shop }
}

/** The answer may take its time, or never come, whatever was done about the request. */
function exchangeWith({ gate, sim, actor, partner }: ReplicaOptions): Exchange {
  const failure = (neverSent: boolean) => new OutgoingFailure(new Error('no answer'), neverSent)
  return async (request) => {
    const { hostname, pathname } = new URL(request.url)
    const { answer, delayMs, neverSent } = await gate({
      label: `${hostname.split('.')[0]} ${request.method} ${pathname.replace(/\/ord_\w+/, '/{id}')}`,
      latencyMs: 60,
      patienceMs: request.timeoutMs,
      run: () => partner(request),
      failure,
    })
    if (delayMs > 0) await sim.clockOf(actor).sleep(Math.min(delayMs, request.timeoutMs))
    if (answer === null || delayMs >= request.timeoutMs) throw failure(neverSent)
    return answer
  }
}

const POST_MS_MAX = 10_000

function gatedPost(gate: Gate, post: Post): Post {
  return (message, stop) =>
    gate({
      label: 'hook',
      latencyMs: 60,
      patienceMs: POST_MS_MAX,
      run: () => post(message, stop),
      failure: () => new Error('no answer'),
    })
}
