import { type WaypointName, waypoints } from '../../src/base/waypoint.ts'
import { type Chance, chanceOf } from './chance.ts'

export type ChainName = 'native' | 'tempo'
/** What a reorganisation forgets. The rest is mined again. */
export const DROPS = ['nothing', 'payments', 'deliveries', 'refunds'] as const
export const DEEDS = ['retry', 'refund', 'decide', 'reconcile', 'price', 'hide'] as const
/** What befalls the next transaction that a chain takes. */
export const SEND_FAULTS = ['drop', 'stick', 'revert'] as const
/** What a shop has to be stopped and started for. */
export const CHANGES = [
  'retire x402',
  'retire mpp',
  'rotate secret',
  'restore',
  'rotate minter',
  'rotate treasury',
] as const
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
      /** Only this one of two; absent: all. */
      readonly node?: number
    } & While)
  /** One of two nodes shows the same block all the time, or nothing at all. */
  | ({
      readonly kind: 'node'
      readonly chain: ChainName
      readonly node: number
      readonly how: 'frozen' | 'silent'
    } & While)
  /** One of two nodes goes on from here on a branch of its own, without what happens on the other; then one of the branches is forgotten. */
  | ({
      readonly kind: 'fork'
      readonly chain: ChainName
      readonly node: number
      /** Its branch is the one that stays, and the other loses these. */
      readonly wins: boolean
      readonly drop: (typeof DROPS)[number]
    } & While)
  /** From one moment on, once: a node takes a transaction of ours and forgets it, and another node brings it after this time. */
  | ({ readonly kind: 'pool' } & While)
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
  | { readonly kind: 'send'; readonly how: (typeof SEND_FAULTS)[number]; readonly atMs: number }
  | {
      readonly kind: 'change'
      readonly what: (typeof CHANGES)[number]
      readonly atMs: number
      /** How much older the backup is, where there is one. */
      readonly ageMs: number
    }
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
  'send',
  'node',
  'change',
  'operator',
  'fork',
  'pool',
]
const LAGS = [2, 10, 40, 150, 300]
export const LAG_BLOCKS_MAX = Math.max(...LAGS)
const FAULTS_MAX = 5
/** Faults begin while purchases are under way. */
const SPAN_MS = 40_000

/**
 * Made of the seed, before anything runs. Fewer kinds than all aim at something. Every other seed begins with the next one of all pairs of a
 * place and a fault that can strike there, so that none is left to luck, and every fourth with faults that belong together; what else goes
 * wrong beside them is luck.
 */
export function planOf(seed: number, allowed: readonly FaultKind[] = KINDS): readonly Fault[] {
  const chance = chanceOf(seed, 'faults')
  // A universe has a mood: whole kinds are left out of it, so that the others meet more often.
  const mood = allowed.filter(() => chance.happens(0.5))
  const kinds = mood.length > 0 ? mood : allowed
  const aimed = aimOf(seed)
  const first = (aimed ? [aimed] : sceneOf(seed)).filter(({ kind }) => allowed.includes(kind))
  let place = aimed ? LABELS.indexOf(aimed.label) : chance.below(LABELS.length)
  const others = Array.from({ length: chance.below(FAULTS_MAX + 1 - first.length) }, () => {
    // Half of them near the one before: what two faults do together, they mostly do within one lease.
    place = chance.happens(0.5)
      ? Math.min(LABELS.length - 1, Math.max(0, place - 4 + chance.below(9)))
      : chance.below(LABELS.length)
    return faultOf(chance.pick(kinds), LABELS[place]!, chance)
  })
  return [...first, ...others]
}

export type Striking = Extract<Fault, { label: string }>

/** Which pair of place and fault a seed is for; null: none. */
export function aimOf(seed: number): Striking | null {
  if (seed % 2 === 1) return null
  // A step that shares no factor with their number goes through all of them, and never through one label for long.
  return PAIRS[((seed / 2) * PAIR_STEP) % PAIRS.length]!
}

const PAIR_STEP = 101

/** What takes several faults at once, which hardly meet by luck. */
function sceneOf(seed: number): readonly Fault[] {
  if (seed % 4 !== 1) return []
  const chance = chanceOf(seed, 'scene')
  return chance.pick(SCENES)(chance)
}

const DELIVERIES = [
  'at deliver.begun',
  'at game.called',
  'game POST /deliveries',
  'at send.broadcast',
  'db update orders',
]
const SENDS = ['at send.signed', 'db insert sends', 'at send.journaled']

const SCENES: readonly ((chance: Chance) => readonly Fault[])[] = [
  // All nodes of a chain show what was mined, and minutes later its receipts.
  (chance) => [
    {
      kind: 'lag',
      chain: chance.pick(['native', 'tempo'] as const),
      method: 'eth_getTransactionReceipt',
      blocks: chance.pick([150, 300]),
      fromMs: chance.below(20_000),
      forMs: chance.pick([120_000, 240_000]),
    },
  ],
  // A process sleeps over a delivery, and a person decides meanwhile.
  (chance) => [
    { kind: 'stop', label: chance.pick(DELIVERIES), nth: 1 + chance.below(2), ms: chance.pick([125_000, 200_000]) },
    {
      kind: 'operator',
      atMs: 40_000 + chance.below(150_000),
      deed: chance.pick(['decide', 'refund', 'retry'] as const),
    },
    { kind: 'operator', atMs: 130_000 + chance.below(60_000), deed: 'decide' },
  ],
  // One dies with what it has signed, and whoever comes after it sleeps before it is written down.
  (chance) => {
    const label = chance.pick(SENDS)
    const ms = chance.pick([70_000, 140_000])
    return [
      { kind: 'kill', label: chance.pick(SENDS), nth: 1, backAfterMs: 1_000 + chance.below(100_000) },
      { kind: 'stop', label, nth: 1, ms },
      { kind: 'stop', label, nth: 2, ms },
    ]
  },
]

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
    case 'lag': {
      const blocks = chance.pick(LAGS)
      const only = chance.pick([{}, {}, { node: 0 }, { node: 1 }])
      return { kind, chain, method: chance.pick(METHODS), blocks, ...only, ...period }
    }
    case 'node':
      return { kind, chain, node: chance.below(2), how: chance.pick(['frozen', 'silent'] as const), ...period }
    case 'fork': {
      const wins = chance.happens(0.5)
      const forMs = chance.pick(wins ? [4_000, 10_000] : [10_000, 60_000])
      return { kind, chain, node: chance.below(2), wins, drop: chance.pick(DROPS), fromMs: atMs, forMs }
    }
    case 'pool':
      return { kind, ...period }
    case 'send':
      return { kind, how: chance.pick(SEND_FAULTS), atMs }
    case 'change':
      return { kind, what: chance.pick(CHANGES), atMs, ageMs: chance.pick([2_000, 8_000, 20_000]) }
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
      // What a person does, they often do late: when a call to the game is too old to arrive, say.
      return { kind, atMs: chance.happens(0.3) ? atMs * 5 : atMs, deed: chance.pick(DEEDS) }
  }
}

/** Every place with every fault that can strike there. */
export const PAIRS: readonly Striking[] = [...new Set([...LABELS, ...waypointLabels])].flatMap((label) => [
  { kind: 'kill', label, nth: 1, backAfterMs: 20_000 },
  ...STOPS.map((ms): Striking => ({ kind: 'stop', label, nth: 1, ms })),
  ...(isCall(label)
    ? [
        { kind: 'lose', label, nth: 1, moment: 'before' } as const,
        { kind: 'lose', label, nth: 1, moment: 'after' } as const,
        { kind: 'delay', label, nth: 1, ms: 20_000 } as const,
      ]
    : []),
])

/** Waypoints are not calls, and have nothing to lose. */
export function isCall(label: string): boolean {
  return !label.startsWith('at ')
}

function outgoing(label: string, chance: Chance): string {
  return isCall(label) ? label : chance.pick(LABELS.filter(isCall))
}
