import type { Fault } from './faults.ts'

/** A universe that once found something, and what it was. Without `only` it has all its purchases. */
export type Kept = {
  readonly what: string
  readonly seed: number
  readonly plan: readonly Fault[]
  readonly only?: readonly number[]
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
    what: 'a mint that the chain dropped, and that reverted when it was mined again: paid for nothing',
    seed: 32000079,
    only: [0],
    plan: [
      { kind: 'node', chain: 'native', node: 0, how: 'silent', fromMs: 33_045, forMs: 180_000 },
      { kind: 'reorg', chain: 'native', atMs: 7_527, depth: 2, drop: 'deliveries' },
      { kind: 'send', how: 'revert', atMs: 8_654 },
    ],
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
    what: 'a push without a purchase, asked about over MCP after its rail was switched off: no end to be heard',
    seed: 33000549,
    only: [0, 2],
    plan: [
      { kind: 'stop', label: 'at deliver.begun', nth: 1, ms: 125_000 },
      { kind: 'change', what: 'retire mpp', atMs: 39_714, ageMs: 20_000 },
    ],
  },
  {
    what: 'a payment shown to two replicas at once, one of them ten minutes ahead: 402 and taken',
    seed: 95083,
    plan: [{ kind: 'clock', replica: 1, offMs: 600_000, fromMs: 2_630, forMs: 10_000 }],
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
