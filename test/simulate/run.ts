import { askForTheEnd } from './actors/payer.ts'
import { judgeBooks } from './books.ts'
import type { Coverage } from './coverage.ts'
import type { Fault, FaultKind } from './faults.ts'
import { isAtRest, judge } from './judge.ts'
import { START_MS } from './scheduler.ts'
import { openUniverse, type Stage, type Universe, type UniverseOptions } from './universe.ts'

export type Verdict = {
  readonly seed: number
  readonly violations: readonly string[]
  readonly digest: string
  readonly steps: number
  readonly virtualMs: number
  readonly plan: readonly Fault[]
  readonly purchases: readonly number[]
  readonly coverage: Coverage
  readonly history: readonly string[]
}

const HOUR_MS = 3_600_000
/** Faults strike for so long; nobody leaves before. */
const TROUBLE_MS_MIN = 12_000
const TROUBLE_MS_MAX = 45_000
const SOON_MS = 10_000
const HEALING_MS_MAX = 15 * 60_000
const LOOK_MS = 5_000
const TIDY_EVERY = 12
const PATIENCE_MS = 120_000

/** No time mends these. */
const isForGood = (violation: string) =>
  /^(delivered and sent back|402 and taken|acted for another|charged without a payment|more open than)/.test(violation)

/** One universe, from its first moment until everything has come to rest. */
export async function runUniverse(seed: number, stage: Stage, options: UniverseOptions = {}): Promise<Verdict> {
  const universe = await openUniverse(seed, stage, options)
  const { sim, plan, purchases, coverage } = universe
  await sim.run(() => false, START_MS + troubleMs(plan))
  await sim.run(() => universe.open() === 0, START_MS + HOUR_MS)
  universe.heal()
  sim.tell('the world heals')
  const violations = await comeToRest(universe)
  for (const violation of violations) sim.tell(`VIOLATION ${violation}`)
  universe.end()
  return {
    seed,
    violations,
    digest: sim.digest(),
    steps: sim.steps(),
    virtualMs: sim.now() - START_MS,
    plan,
    purchases: purchases.map(({ index }) => index),
    coverage,
    history: sim.history,
  }
}

/** What lasts may outlast every payer: a refund is sent long after its buyer was told of it. */
function troubleMs(plan: readonly Fault[]): number {
  const ends = plan.map((fault) => {
    if ('label' in fault) return TROUBLE_MS_MAX
    if (fault.kind === 'lag' || fault.kind === 'fork') return fault.fromMs + fault.forMs
    return Math.min(TROUBLE_MS_MAX, ('atMs' in fault ? fault.atMs : fault.fromMs) + SOON_MS)
  })
  return Math.max(TROUBLE_MS_MIN, ...ends)
}

const DROPPING: ReadonlySet<FaultKind> = new Set(['reorg', 'dropPool', 'send', 'fork', 'pool'])

/** What a chain has dropped is found by the second round of the reconciler, and sent again. */
function aftercareMs(plan: readonly Fault[]): number {
  const isDropping = plan.some(({ kind }) => DROPPING.has(kind))
  return isDropping ? 35_000 : SOON_MS
}

/** Has it been done? */
function asked(errand: Promise<void>): () => boolean {
  let isDone = false
  void errand.then(() => {
    isDone = true
  })
  return () => isDone
}

async function comeToRest(universe: Universe): Promise<readonly string[]> {
  const { sim, operator, plan } = universe
  const deadline = sim.now() + HEALING_MS_MAX
  let quietSince: number | null = null
  for (let look = 1; ; look++) {
    const until = sim.now() + LOOK_MS
    await sim.run(() => false, until)
    if (look % TIDY_EVERY === 0) void operator.tidyUp()
    const isQuiet = await isAtRest(universe)
    quietSince = isQuiet ? (quietSince ?? sim.now()) : null
    const isLate = sim.now() >= deadline
    if (!isLate && (quietSince === null || sim.now() - quietSince < aftercareMs(plan))) continue
    if (isQuiet) await sim.run(asked(askForTheEnd(universe)), sim.now() + PATIENCE_MS)
    const violations = [...(await judge(universe)), ...(isQuiet ? await judgeBooks(universe) : [])]
    if (isLate || violations.length === 0 || violations.some(isForGood)) return violations
    quietSince = sim.now()
  }
}
