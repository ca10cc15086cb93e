import { isProblem } from '../base/problem.ts'
import type { Queryable } from '../store/db.ts'
import { lookAtStore } from '../store/lineage.ts'

/**
 * What this process knows to be in the store. A standby that is promoted, or a backup that is put back under a running shop, may have forgotten
 * the last of it; nothing but a memory outside the store can tell.
 */
export type StoreMemory = {
  /** The history that sales are written to; null until the gate has opened for the first time. Sales name it, and are void in any other. */
  lineage(): string | null
  /** This payment was written down, and the store has said so. */
  remember(identity: string): void
  /** The newest that were remembered. */
  recent(): readonly string[]
  /** Until the chain has been read, at the start and whenever the store turns out to be another one, nobody can say what it has forgotten. */
  isInDoubt(): boolean
  doubt(): void
  /** From now on this is the history that counts, and these payments are no longer expected in it. */
  accept(lineage: string, missed: readonly string[]): void
}

/** How a store differs from the one that is remembered. */
type Move = { readonly lineage: string; readonly missing: number }

/** Null: it is the one that was read, with all that was written to it. */
export async function moveOf(
  queryable: Queryable,
  memory: Pick<StoreMemory, 'lineage' | 'recent'>,
): Promise<Move | null> {
  const recent = memory.recent()
  const { lineage, known } = await lookAtStore(queryable, recent)
  const missing = recent.length - known
  return lineage === memory.lineage() && missing === 0 ? null : { lineage, missing }
}

/**
 * May the store have forgotten something that nobody knows of yet? It is asked itself: whoever watches it looks now and then, and what is said in between is
 * said for ever. One that does not answer may have moved.
 */
export async function isInDoubt(
  queryable: Queryable,
  memory: Pick<StoreMemory, 'isInDoubt' | 'lineage' | 'recent'>,
): Promise<boolean> {
  if (memory.isInDoubt()) return true
  try {
    return (await moveOf(queryable, memory)) !== null
  } catch (error) {
    if (isProblem(error)) return true
    throw error
  }
}

/** More than one process has under way at once: whatever was written before the oldest of them is there if it is. */
const REMEMBERED = 64

export function createStoreMemory(): StoreMemory {
  let lineage: string | null = null
  let isInDoubt = true
  let recent: string[] = []
  return {
    lineage: () => lineage,
    remember(identity) {
      recent.push(identity)
      if (recent.length > REMEMBERED) recent.shift()
    },
    recent: () => [...recent],
    isInDoubt: () => isInDoubt,
    doubt() {
      isInDoubt = true
    },
    accept(accepted, missed) {
      lineage = accepted
      isInDoubt = false
      // What was remembered since is not among them: it has not been looked for yet.
      recent = recent.filter((identity) => !missed.includes(identity))
    },
  }
}
