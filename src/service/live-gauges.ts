import type { Health } from '../api/operator/health-rows.ts'
import type { Gauge, Sample } from '../base/metrics.ts'
import { VERSION } from '../base/version.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { DatabaseStatus } from '../store/db.ts'
import { eventLoopDelay } from './event-loop.ts'

// What one replica sees of the world, and of itself.

export type LiveChain = { readonly rpc: Rpc }

const STATUS_VALUES = { ok: 0, warn: 1, fail: 2 } as const

export function healthGauges({ checks, sells, isLeaving }: Health): readonly Gauge[] {
  const sellsAny = sells.length === 0 || sells.some(({ isUp, isPaused }) => isUp || isPaused)
  return [
    gauge('sutler_ready', '1 when this replica can sell something.', only(!isLeaving && sellsAny ? 1 : 0)),
    gauge(
      'sutler_selling',
      '1 when this replica can sell this family of goods by this protocol.',
      sells.map(({ surface, rail, isUp }) => ({ labels: { surface, rail }, value: isUp ? 1 : 0 })),
    ),
    gauge(
      'sutler_check_status',
      'What this replica finds, by check: 0 is well, 1 wants a look, 2 keeps something from being sold.',
      checks.map(({ name, status }) => ({ labels: { check: name }, value: STATUS_VALUES[status] })),
    ),
  ]
}

export function nodeGauges(chains: readonly LiveChain[]): readonly Gauge[] {
  const nodes = chains.flatMap(({ rpc }) => rpc.standing().map((node) => ({ chain: String(rpc.chainId), ...node })))
  const labels = ({ chain, place }: (typeof nodes)[number]) => ({ chain, node: String(place) })
  return [
    gauge(
      'sutler_rpc_node_up',
      '1 when an RPC node answers and is not behind, by its place in the configuration.',
      nodes.map((node) => ({ labels: labels(node), value: node.isUp ? 1 : 0 })),
    ),
    gauge(
      'sutler_rpc_node_blocks_behind',
      'Blocks that another node of the chain has shown and this one has not.',
      nodes.map((node) => ({ labels: labels(node), value: node.blocksBehind })),
    ),
  ]
}

export function processGauges({ connections, idle, waiting }: DatabaseStatus): readonly Gauge[] {
  const { p99Seconds, maxSeconds } = eventLoopDelay('figures')
  const { user, system } = process.cpuUsage()
  return [
    gauge('sutler_build_info', 'Always 1; the labels say what runs.', [
      { labels: { version: VERSION, node: process.versions.node }, value: 1 },
    ]),
    gauge('sutler_store_connections', 'Connections to the store.', [
      { labels: { state: 'idle' }, value: idle },
      { labels: { state: 'busy' }, value: connections - idle },
      { labels: { state: 'awaited' }, value: waiting },
    ]),
    gauge(
      'sutler_event_loop_delay_p99_seconds',
      'How late this process was with what was due, lately: 99 of 100 times at most so much.',
      only(p99Seconds),
    ),
    gauge('sutler_event_loop_delay_max_seconds', 'How late it was at most, lately.', only(maxSeconds)),
    {
      ...gauge('process_cpu_seconds_total', 'Processor time of this process.', only((user + system) / 1e6)),
      type: 'counter',
    },
    gauge('process_resident_memory_bytes', 'Memory of this process.', only(process.memoryUsage.rss())),
  ]
}

export function only(value: number): readonly Sample[] {
  return [{ labels: {}, value }]
}

export function gauge(name: string, help: string, samples: readonly Sample[]): Gauge {
  return { name, help, samples }
}
