import type { Clock } from '../base/clock.ts'
import { newId, type Random } from '../base/id.ts'
import type { JsonObject } from '../base/json.ts'
import { VERSION } from '../base/version.ts'
import type { ChainMeter } from '../chain/chain-meter.ts'
import type { Database } from '../store/db.ts'
import { forgetReplica, reportReplica } from '../store/replicas.ts'
import { eventLoopDelay } from './event-loop.ts'

/** This process among those that work on the same store. */
export type ReplicaVoice = {
  readonly id: string
  /** Says that it is there, and how it is. */
  report(): Promise<void>
  leave(): Promise<void>
}

/** How long nodes took to answer, lately: each answer counts for a tenth. */
type NodeTimes = { readonly meter: ChainMeter; read(): readonly JsonObject[] }

const WEIGHT = 0.1

export function createNodeTimes(inner: ChainMeter): NodeTimes {
  const times = new Map<string, { chainId: number; node: number; ms: number; silent: number }>()
  return {
    meter: {
      ...inner,
      asked(question) {
        inner.asked(question)
        const { chainId, node, outcome, ms } = question
        const key = `${chainId} ${node}`
        const known = times.get(key) ?? { chainId, node, ms, silent: 0 }
        known.ms += (ms - known.ms) * WEIGHT
        known.silent = outcome === 'silent' ? known.silent + 1 : 0
        times.set(key, known)
      },
    },
    read: () => [...times.values()].map(({ ms, ...rest }) => ({ ...rest, ms: Math.round(ms * 10) / 10 })),
  }
}

type ReplicaParts = {
  readonly database: Database
  readonly clock: Clock
  readonly random: Random
  readonly nodes: Pick<NodeTimes, 'read'>
}

export function createReplica({ database, clock, random, nodes }: ReplicaParts): ReplicaVoice {
  const id = newId('rpl', random)
  const startedAt = clock.now()
  return {
    id,
    report() {
      const { p99Seconds, maxSeconds } = eventLoopDelay('replica')
      const { connections, idle, waiting } = database.status()
      const facts = {
        node: process.versions.node,
        eventLoop: { p99Ms: Math.round(p99Seconds * 1000), maxMs: Math.round(maxSeconds * 1000) },
        memoryMb: Math.round(process.memoryUsage.rss() / 2 ** 20),
        store: { busy: connections - idle, idle, waiting },
        rpc: [...nodes.read()],
      }
      return reportReplica(database, { id, version: VERSION, startedAt, facts })
    },
    leave: () => forgetReplica(database, id),
  }
}
