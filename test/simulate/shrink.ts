import type { Fault } from './faults.ts'
import { runUniverse, type Verdict } from './run.ts'
import type { Stage, UniverseOptions } from './universe.ts'

/** What is needed for a violation, and nothing else. */
export type Shrunk = { readonly plan: readonly Fault[]; readonly only: readonly number[]; readonly runs: number }

const RUNS_MAX = 40

export const kindOf = (violation: string) => violation.split(':')[0]!

/**
 * Leaves out one purchase or fault after the other, as long as the same kind of thing goes wrong. What is left out moves the rest a
 * little, so it goes round until nothing more can be left out.
 */
export async function shrink(
  stage: Stage,
  { seed, plan, purchases, violations }: Verdict,
  aim: UniverseOptions,
): Promise<Shrunk> {
  const kind = kindOf(violations[0]!)
  let kept = { plan, only: purchases }
  let runs = 0

  async function stillFails(smaller: typeof kept): Promise<boolean> {
    if (runs >= RUNS_MAX) return false
    runs++
    const { violations: found } = await runUniverse(seed, stage, { ...aim, ...smaller })
    return found.some((violation) => kindOf(violation) === kind)
  }

  for (let size = -1; size !== sizeOf(kept); ) {
    size = sizeOf(kept)
    for (const index of kept.only) {
      const smaller = { ...kept, only: kept.only.filter((one) => one !== index) }
      if (smaller.only.length > 0 && (await stillFails(smaller))) kept = smaller
    }
    for (const fault of kept.plan) {
      const smaller = { ...kept, plan: kept.plan.filter((one) => one !== fault) }
      if (await stillFails(smaller)) kept = smaller
    }
  }
  return { ...kept, runs }
}

function sizeOf({ plan, only }: { readonly plan: readonly Fault[]; readonly only: readonly number[] }): number {
  return plan.length + only.length
}
