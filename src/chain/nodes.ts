import { type Clock, type Countdown, countdown } from '../base/clock.ts'
import type { RpcTransport } from './transport.ts'

/** One address that answers for a chain, and what is known of it. */
export type RpcNode = {
  /** Its place in the configuration, from 1: what it is called in figures. */
  readonly place: number
  readonly ask: RpcTransport
  /** The newest block it has shown; null before anybody asked. */
  head: NodeHead | null
  /** It did not answer a moment ago: as long as something is left it is asked last. */
  muted: Countdown
  /** Its newest block lies behind that of another, or is not known while that of another is: what it says may be of the past. */
  isBehind: boolean
}

/** A node as it showed itself when it was last asked. */
export type NodeStanding = {
  readonly place: number
  /** It answers, and its newest block is of now. */
  readonly isUp: boolean
  /** How many blocks another node has shown that it has not. */
  readonly blocksBehind: number
}

export type NodeHead = { readonly number: bigint; readonly timestampMs: number; readonly baseFee: bigint }

export type Nodes = {
  readonly all: readonly RpcNode[]
  /** Whom to ask, best first. Those that lag are not among them. */
  inOrder(): readonly RpcNode[]
  isMuted(node: RpcNode): boolean
  mute(node: RpcNode): void
  /** Compares the heads that were read last. */
  judge(): void
  /** How each of them stands, as far as it was asked. */
  standing(): readonly NodeStanding[]
}

/** Long, because it ends as soon as the node answers anything: heads are asked of all nodes, muted or not. */
const MUTED_MS = 60_000
/** Nodes of one chain are never quite together. Both must be exceeded, so that a made-up height alone shuts nobody out. */
const BLOCKS_BEHIND_MAX = 3n
const MS_BEHIND_MAX = 8_000

export const UNMUTED: Countdown = () => 0

export function createNodes(transports: readonly RpcTransport[], clock: Clock): Nodes {
  const all = transports.map(
    (ask, index): RpcNode => ({ place: index + 1, ask, head: null, muted: UNMUTED, isBehind: false }),
  )
  const isMuted = ({ muted }: RpcNode): boolean => muted() > 0
  return {
    all,
    isMuted,
    inOrder() {
      const believed = all.filter(({ isBehind }) => !isBehind)
      return [...believed.filter((node) => !isMuted(node)), ...believed.filter(isMuted)]
    },
    mute(node) {
      node.muted = countdown(clock, MUTED_MS)
    },
    standing() {
      const newest = all.reduce((best, { head }) => (head !== null && head.number > best ? head.number : best), 0n)
      return all.map((node) => ({
        place: node.place,
        isUp: !node.isBehind && !isMuted(node),
        blocksBehind: node.head === null ? 0 : Number(newest - node.head.number),
      }))
    },
    judge() {
      const heads = all.map(({ head }) => head).filter((head) => head !== null)
      const best = heads.reduce((a, b) => (b.number > a.number ? b : a), heads[0]!)
      // A block from the future makes nobody late.
      const newestMs = Math.min(best.timestampMs, clock.now())
      for (const node of all)
        node.isBehind =
          node.head === null ||
          (best.number - node.head.number > BLOCKS_BEHIND_MAX && newestMs - node.head.timestampMs > MS_BEHIND_MAX)
    },
  }
}
