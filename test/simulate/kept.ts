import type { Fault } from './faults.ts'

/** A universe that once found something, and what it was. Without a plan it has the seed's own, and without `only` all its purchases. */
export type Kept = {
  readonly what: string
  readonly seed: number
  readonly plan?: readonly Fault[]
  readonly only?: readonly number[]
  /** For whoever asks for more: it takes as long as five others, or a test of its own shows what it found. */
  readonly isForMore?: boolean
}

export const KEPT: readonly Kept[] = [
  {
    what: 'a backup that no key has moved since: delivered and sent back',
    seed: 1111,
    plan: [{ kind: 'change', what: 'restore', atMs: 17_752, ageMs: 20_000 }],
  },
  {
    what: 'a payment that reverted in a block which was taken back: 402 and taken',
    seed: 1200,
    plan: [
      { kind: 'reorg', chain: 'native', atMs: 13_955, depth: 6, drop: 'deliveries' },
      { kind: 'send', how: 'revert', atMs: 2_077 },
    ],
  },
  {
    what: 'a push that the chain dropped and its payer brought back, of an order that had failed: nothing sent back for an hour',
    seed: 1341,
    isForMore: true,
    plan: [
      { kind: 'kill', label: 'at send.signed', nth: 1, backAfterMs: 25_538 },
      { kind: 'stop', label: 'at send.journaled', nth: 1, ms: 140_000 },
      { kind: 'stop', label: 'at send.journaled', nth: 2, ms: 140_000 },
    ],
  },
  {
    what: 'a pull payment that was set aside and has run out: 402 and taken',
    seed: 4001,
    isForMore: true,
    plan: [{ kind: 'change', what: 'restore', atMs: 17_752, ageMs: 20_000 }],
  },
  {
    what: 'tokens that were burnt for an order which the backup has open: delivered and sent back',
    seed: 5027,
    isForMore: true,
    plan: [{ kind: 'change', what: 'restore', atMs: 9_000, ageMs: 8_000 }],
  },
  {
    what: 'a payment over MCP on a rail that was retired meanwhile: 402 and taken',
    seed: 8012,
    plan: [
      { kind: 'kill', label: 'db update orders', nth: 1, backAfterMs: 20_000 },
      { kind: 'change', what: 'retire mpp', atMs: 816, ageMs: 20_000 },
      { kind: 'lose', label: 'db update jobs', nth: 3, moment: 'after' },
    ],
  },
  {
    what: 'a payment that the chain dropped for good, and a delivery that failed then: money sent back that never came',
    seed: 50043,
    isForMore: true,
    plan: [],
  },
  {
    what: 'a payment shown to two replicas at once, one of them ten minutes ahead: 402 and taken',
    seed: 95083,
    plan: [{ kind: 'clock', replica: 1, offMs: 600_000, fromMs: 2_630, forMs: 10_000 }],
  },
  {
    what: 'a till that was read from a node that is behind, and deliveries that failed then: money that never went back',
    seed: 100_029,
    isForMore: true,
    plan: [{ kind: 'lag', chain: 'tempo', method: 'eth_getLogs', blocks: 300, fromMs: 16_185, forMs: 60_000 }],
  },
  {
    what: 'a payment over MCP that had bought nothing when its rail was retired: no end to be heard',
    seed: 350_044,
    isForMore: true,
    plan: [
      { kind: 'stop', label: 'rpc eth_getTransactionCount', nth: 1, ms: 16_000 },
      { kind: 'change', what: 'retire x402', atMs: 38_832, ageMs: 2_000 },
      { kind: 'node', chain: 'native', node: 0, how: 'silent', fromMs: 3_479, forMs: 60_000 },
    ],
  },
  {
    what: 'a refund by the old key of the treasury on a branch that waits, and one by the new key: sent back twice',
    seed: 2278,
    only: [1],
    plan: [
      { kind: 'change', what: 'rotate treasury', atMs: 22_949, ageMs: 20_000 },
      { kind: 'delay', label: 'rpc eth_getTransactionReceipt', nth: 2, ms: 2_000 },
      { kind: 'fork', chain: 'tempo', node: 0, wins: false, drop: 'nothing', fromMs: 24_783, forMs: 10_000 },
    ],
  },
  {
    what: 'a push over MCP that had bought nothing when its rail was retired, and is too little to go back: no end to be heard',
    seed: 3798,
    isForMore: true,
    plan: [
      { kind: 'stop', label: 'at order.settled', nth: 1, ms: 200_000 },
      { kind: 'change', what: 'retire mpp', atMs: 23_589, ageMs: 2_000 },
    ],
  },
  {
    what: 'a payment that a node neither logs nor has a receipt of for minutes, and a delivery that fails: lost, and never found again',
    seed: 4581,
    isForMore: true,
    only: [0],
    plan: [
      {
        kind: 'lag',
        chain: 'tempo',
        method: 'eth_getTransactionReceipt',
        blocks: 300,
        fromMs: 16_962,
        forMs: 240_000,
      },
      { kind: 'lag', chain: 'tempo', method: 'eth_getLogs', blocks: 150, fromMs: 2_789, forMs: 180_000 },
    ],
  },
  {
    what: 'a push while the node of a new shop is silent, and that nobody presents: money that nobody sees',
    seed: 4850,
    isForMore: true,
    only: [7],
    plan: [
      { kind: 'stop', label: 'db select orders', nth: 1, ms: 16_000 },
      { kind: 'node', chain: 'tempo', node: 0, how: 'silent', fromMs: 128, forMs: 10_000 },
    ],
  },
  {
    what: 'a push that nobody presents, while the only node names blocks that it does not search: money that nobody sees',
    seed: 8963,
    isForMore: true,
    only: [7],
    plan: [{ kind: 'lag', chain: 'tempo', method: 'eth_getLogs', blocks: 150, node: 0, fromMs: 24_016, forMs: 60_000 }],
  },
  {
    what: 'a push that the chain took back, of a purchase that the backup does not know, and that comes again: delivered and sent back',
    seed: 157_430,
    isForMore: true,
    only: [1, 7],
    plan: [
      { kind: 'lose', label: 'db select orders', nth: 1, moment: 'after' },
      { kind: 'change', what: 'restore', atMs: 1_359, ageMs: 20_000 },
    ],
  },
  {
    what: 'a replica whose clock was ten minutes ahead for ten seconds: it sold nothing for ten minutes, and its payer heard no end',
    seed: 1145311,
    only: [1, 2],
    plan: [
      { kind: 'clock', replica: 0, offMs: 600_000, fromMs: 29_973, forMs: 10_000 },
      { kind: 'send', how: 'stick', atMs: 37_792 },
    ],
  },
]
