import { type WaypointName, waypoints } from '../../src/base/waypoint.ts'
import { type Chance, chanceOf } from './chance.ts'

export type ChainName = 'native' | 'tempo'
/** What a reorganisation forgets. The rest is mined again. */
export const DROPS = ['nothing', 'payments', 'deliveries', 'refunds'] as const
export const DEEDS = ['retry', 'refund', 'decide', 'reconcile', 'price'] as const
export const MANNERS = {
  game: ['down', 'loses answers', 'loses requests', 'cannot say', 'is slow', 'refuses', 'gives another'],
  receiver: ['down', 'fails', 'is slow', 'is gone'],
  facilitator: ['down', 'loses answers', 'denies what it did', 'claims what it did not', 'is slow'],
} as const
export type Partner = keyof typeof MANNERS

/** One thing that goes wrong. Each stands for itself: any may be left out, and the others happen as before. */
export type Fault =
  /** At the `nth` time that a replica is about to pass `label`. */
  | { readonly kind: 'kill'; readonly label: string; readonly nth: number; readonly backAfterMs: number }
  | { readonly kind: 'stop'; readonly label: string; readonly nth: number; readonly ms: number }
  | { readonly kind: 'lose'; readonly label: string; readonly nth: number; readonly moment: 'before' | 'after' }
  | { readonly kind: 'delay'; readonly label: string; readonly nth: number; readonly ms: number }
  /** From one moment on, for a while. */
  | ({
      readonly kind: 'lag'
      readonly chain: ChainName
      readonly method: string
      readonly blocks: number
    } & While)
  | ({ readonly kind: 'fees'; readonly times: number } & While)
  | ({ readonly kind: 'clock'; readonly replica: number; readonly offMs: number } & While)
  | ({ readonly kind: 'partner'; readonly partner: Partner; readonly manner: string } & While)
  /** At one moment. */
  | {
      readonly kind: 'reorg'
      readonly chain: ChainName
      readonly atMs: number
      readonly depth: number
      readonly drop: (typeof DROPS)[number]
    }
  | { readonly kind: 'dropPool'; readonly chain: ChainName; readonly atMs: number }
  | { readonly kind: 'operator'; readonly atMs: number; readonly deed: (typeof DEEDS)[number] }

export type While = { readonly fromMs: number; readonly forMs: number }
export type FaultKind = Fault['kind']

/** In the order of a purchase's life: what stands close together happens close together. */
export const LABELS: readonly string[] = [
  'db select orders',
  'rpc eth_call',
  'at order.opening',
  'db transaction',
  'db insert orders',
  'at order.opened',
  'at settle.begun',
  'rpc eth_getLogs',
  'rpc eth_getTransactionCount',
  'at send.signed',
  'db insert sends',
  'at send.journaled',
  'rpc eth_sendRawTransaction',
  'at send.broadcast',
  'rpc eth_getTransactionReceipt',
  'at send.mined',
  'at settle.done',
  'db update orders',
  'at order.settled',
  'db claim',
  'at deliver.begun',
  'db insert game_calls',
  'at game.called',
  'game POST /deliveries',
  'at game.answered',
  'at send.signed',
  'db insert sends',
  'at send.journaled',
  'rpc eth_sendRawTransaction',
  'at send.broadcast',
  'at order.submitted',
  'rpc eth_getTransactionReceipt',
  'at send.mined',
  'at deliver.done',
  'at order.confirmed',
  'at order.failed',
  'db update jobs',
  'at refund.created',
  'at send.signed',
  'db insert sends',
  'rpc eth_sendRawTransaction',
  'at send.broadcast',
  'at refund.done',
  'at order.refunded',
  'at order.expired',
  'at answer.ready',
  'http answer',
  'hook',
  'at webhook.sent',
  'at webhook.recorded',
]

export const waypointLabel = (name: WaypointName) => `at ${name}`
export const waypointLabels: readonly string[] = waypoints.map(waypointLabel)

/** Below a lease, past one, past the end of a delivery, past the end of a payment, past the life of a call to the game. */
const STOPS = [3_000, 16_000, 31_000, 70_000, 125_000, 200_000]
const METHODS = [
  'eth_getTransactionReceipt',
  'eth_getTransactionReceipt',
  'eth_getTransactionCount',
  'eth_getLogs',
  'eth_call',
  'eth_getBlockByNumber',
]
export const KINDS: readonly FaultKind[] = [
  'kill',
  'stop',
  'lose',
  'delay',
  'lag',
  'fees',
  'clock',
  'partner',
  'reorg',
  'dropPool',
  'operator',
]
const FAULTS_MAX = 5
/** Faults begin while purchases are under way. */
const SPAN_MS = 40_000

/** Made of the seed, before anything runs. Fewer kinds than all aim at something. */
export function planOf(seed: number, allowed: readonly FaultKind[] = KINDS): readonly Fault[] {
  const chance = chanceOf(seed, 'faults')
  // A universe has a mood: whole kinds are left out of it, so that the others meet more often.
  const mood = allowed.filter(() => chance.happens(0.5))
  const kinds = mood.length > 0 ? mood : allowed
  let place = chance.below(LABELS.length)
  return Array.from({ length: chance.below(FAULTS_MAX + 1) }, () => {
    // Half of them near the one before: what two faults do together, they mostly do within one lease.
    place = chance.happens(0.5)
      ? Math.min(LABELS.length - 1, Math.max(0, place - 4 + chance.below(9)))
      : chance.below(LABELS.length)
    return faultOf(chance.pick(kinds), LABELS[place]!, chance)
  })
}

function faultOf(kind: FaultKind, label: string, chance: Chance): Fault {
  const nth = 1 + chance.below(3)
  const chain = chance.pick(['native', 'tempo'] as const)
  const atMs = chance.below(SPAN_MS)
  const period = { fromMs: atMs, forMs: chance.pick([10_000, 60_000, 180_000]) }
  switch (kind) {
    case 'kill':
      return { kind, label, nth, backAfterMs: 1_000 + chance.below(60_000) }
    case 'stop':
      return { kind, label, nth, ms: chance.pick(STOPS) }
    case 'lose':
      return { kind, label: outgoing(label, chance), nth, moment: chance.pick(['before', 'after'] as const) }
    case 'delay':
      return { kind, label: outgoing(label, chance), nth, ms: chance.pick([2_000, 9_000, 20_000]) }
    case 'lag':
      return { kind, chain, method: chance.pick(METHODS), blocks: chance.pick([2, 10, 40, 150, 300]), ...period }
    case 'fees':
      return { kind, times: chance.pick([3, 100]), ...period }
    case 'clock':
      return { kind, replica: chance.below(3), offMs: chance.pick([-600_000, -5_000, 5_000, 600_000]), ...period }
    case 'partner': {
      const partner = chance.pick(['game', 'receiver', 'facilitator'] as const)
      return { kind, partner, manner: chance.pick<string>(MANNERS[partner]), ...period }
    }
    case 'reorg':
      return { kind, chain, atMs, depth: chance.pick([1, 2, 3, 6]), drop: chance.pick(DROPS) }
    case 'dropPool':
      return { kind, chain, atMs }
    case 'operator':
      return { kind, atMs, deed: chance.pick(DEEDS) }
  }
}

/** Waypoints are not calls, and have nothing to lose. */
function outgoing(label: string, chance: Chance): string {
  return label.startsWith('at ') ? chance.pick(LABELS.filter((one) => !one.startsWith('at '))) : label
}
