import type { Hex } from '../../src/base/hex.ts'
import type { Haze } from './chain.ts'
import { type Coverage, countOther, countPassed, countStrike } from './coverage.ts'
import type { Fault, Partner, While } from './faults.ts'
import type { Mishap } from './gate.ts'
import { type Actor, START_MS } from './scheduler.ts'
import type { SimWorld } from './world.ts'

/** The plan of a universe at work: what strikes whom, at which step, and what holds at this moment. */
export type Strikes = {
  /** Somebody is about to pass a label. */
  onStep(actor: Actor, label: string): void
  /** What befalls the call that was just let through. */
  mishap(actor: Actor, label: string): Mishap
  readonly haze: Haze
  /** A node stands on a branch of its own from this block on, until the function that is returned is called. */
  fork(chainId: number, node: number, forkedAt: number): () => void
  manner(partner: Partner): string | null
  clockOffMs(replica: number): number
  /** The next one who passes this label stops there. */
  hold(label: string, ms: number): void
  /** Everything that lasts ends now. */
  heal(): void
}

export type StrikeParts = {
  readonly plan: readonly Fault[]
  readonly world: SimWorld
  readonly now: () => number
  readonly coverage: Coverage
  tell(line: string): void
  kill(actor: Actor, backAfterMs: number): void
  /** A transaction that was just forgotten comes back after a time. */
  bringBack(raw: Hex, afterMs: number): void
}

const NONE: Mishap = { lost: null, delayMs: 0 }

export function createStrikes({ plan, world, now, coverage, tell, kill, bringBack }: StrikeParts): Strikes {
  const passed = new Map<string, number>()
  const waiting = new Map<string, Mishap>()
  const holding = new Map<string, number>()
  let isHealed = false
  const holds = ({ fromMs, forMs }: While) => {
    const at = now() - START_MS
    return !isHealed && at >= fromMs && at < fromMs + forMs
  }
  const lasting = <Kind extends Fault['kind']>(kind: Kind) =>
    plan.filter((fault): fault is Extract<Fault, { kind: Kind }> => fault.kind === kind)
  const lags = lasting('lag')
  const clocks = lasting('clock')
  const partners = lasting('partner')
  const nodes = lasting('node')
  const pools = lasting('pool')
  const told = new Set<Fault>()
  const forks = new Map<string, number>()
  /** Of those that strike once: the first whose time has come. */
  const due = <Some extends Fault & While>(faults: readonly Some[]): Some | undefined => {
    const found = faults.find((fault) => !isHealed && !told.has(fault) && now() - START_MS >= fault.fromMs)
    if (found) told.add(found)
    return found
  }
  const nodeFault = (chainId: number, node: number, how: 'frozen' | 'silent') => {
    const isIt = (fault: (typeof nodes)[number]) => fault.how === how && fault.node === node
    const found = nodes.find((fault) => isIt(fault) && world[fault.chain].chainId === chainId && holds(fault))
    if (found) countOther(coverage, `node ${how}`)
    return found
  }

  function strike(fault: Fault, actor: Actor, label: string): void {
    if (fault.kind === 'kill') kill(actor, fault.backAfterMs)
    else if (fault.kind === 'stop') actor.stoppedUntil = now() + fault.ms
    else if (fault.kind === 'lose') waiting.set(actor.name + label, { lost: fault.moment, delayMs: 0 })
    else if (fault.kind === 'delay') waiting.set(actor.name + label, { lost: null, delayMs: fault.ms })
  }

  return {
    onStep(actor, label) {
      if (!actor.name.startsWith('shop') || label === 'woke' || isHealed) return
      const nth = (passed.get(label) ?? 0) + 1
      passed.set(label, nth)
      countPassed(coverage, label)
      const held = holding.get(label)
      holding.delete(label)
      if (held !== undefined) actor.stoppedUntil = now() + held
      for (const fault of plan) {
        if (!('label' in fault) || fault.label !== label || fault.nth !== nth) continue
        countStrike(coverage, fault)
        tell(`!! ${fault.kind} ${actor.name} at ${label}`)
        strike(fault, actor, label)
      }
    },
    mishap(actor, label) {
      const found = waiting.get(actor.name + label) ?? NONE
      waiting.delete(actor.name + label)
      return found
    },
    haze: {
      lags: () =>
        lags.filter(holds).map(({ chain, method, blocks, node }) => {
          countOther(coverage, `lag ${method}`)
          return { chainId: world[chain].chainId, method, blocks, ...(node === undefined ? {} : { node }) }
        }),
      frozenSince(chainId, node) {
        const found = nodeFault(chainId, node, 'frozen')
        return found ? START_MS + found.fromMs : null
      },
      isSilent: (chainId, node) => nodeFault(chainId, node, 'silent') !== undefined,
      forkedAt: (chainId, node) => forks.get(`${chainId} ${node}`) ?? null,
      forgets(chainId, raw) {
        const found = chainId === world.native.chainId ? due(pools) : undefined
        if (!found) return false
        tell('!! the transaction that is sent now comes late')
        countOther(coverage, 'pool late')
        bringBack(raw, found.forMs)
        return true
      },
    },
    fork(chainId, node, forkedAt) {
      const key = `${chainId} ${node}`
      forks.set(key, forkedAt)
      return () => void forks.delete(key)
    },
    manner(partner) {
      const found = partners.find((fault) => fault.partner === partner && holds(fault))
      if (found) countOther(coverage, `${partner} ${found.manner}`)
      return found?.manner ?? null
    },
    clockOffMs: (replica) => clocks.find((fault) => fault.replica === replica && holds(fault))?.offMs ?? 0,
    hold(label, ms) {
      holding.set(label, ms)
    },
    heal() {
      isHealed = true
      waiting.clear()
      forks.clear()
    },
  }
}
