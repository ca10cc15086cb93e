import { isProblem } from '../base/problem.ts'
import type { Queryable } from '../store/db.ts'
import { lookAtStore } from '../store/lineage.ts'
import { areTillsPutBack } from '../store/tills/till-trust.ts'

/**
 * What this process knows to be in the store. A standby that is promoted, or a backup that is restored under a running shop, may have forgotten
 * the last of it; only a memory outside the store can tell.
 */
export type StoreMemory = {
  /** The history of the store that sales are written to; null until the gate has opened for the first time. Sales name it, and are void in any other. */
  lineage(): string | null
  /** Remembers a payment that the store has confirmed to have written. */
  remember(identity: string): void
  /** The newest remembered payments. */
  recent(): readonly string[]
  /** True from the start, and whenever the store turns out to be another one, until the chain has been read: what it has forgotten is not known. */
  isInDoubt(): boolean
  doubt(): void
  /** From now on this is the history that counts, and these payments are no longer expected in it. */
  accept(lineage: string, missed: readonly string[]): void
}

/** How a store differs from the one that is remembered. `isDoubted`: another process has found that it does, where this one sees nothing of it. */
type Move = { readonly lineage: string; readonly missing: number; readonly isDoubted: boolean }

/** Null: it is still the same store, with all that this process wrote to it, and nobody doubts these tills because they miss something. */
export async function moveOf(
  queryable: Queryable,
  memory: Pick<StoreMemory, 'lineage' | 'recent'>,
  tills: readonly string[],
): Promise<Move | null> {
  const { lineage, missing } = await lookAtStore(queryable, memory.recent())
  const isDoubted = await areTillsPutBack(queryable, tills)
  const isSame = lineage === memory.lineage() && missing.length === 0 && !isDoubted
  return isSame ? null : { lineage, missing: missing.length, isDoubted }
}

/**
 * May the store have forgotten something that no replica has noticed yet, or that is not set aside yet at one of these tills? It is queried each time:
 * the watch looks only once a second, and an answer that is given in between cannot be taken back. A store that does not answer may have moved.
 */
export async function isInDoubt(
  queryable: Queryable,
  memory: Pick<StoreMemory, 'isInDoubt' | 'lineage' | 'recent'>,
  tills: readonly string[],
): Promise<boolean> {
  if (memory.isInDoubt()) return true
  try {
    return (await moveOf(queryable, memory, tills)) !== null
  } catch (error) {
    if (isProblem(error)) return true
    throw error
  }
}

/** More than a single process has under way at once: if the oldest of them is in the store, so is everything that was written before it. */
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
      // Payments remembered since stay: they have not been looked for yet.
      recent = recent.filter((identity) => !missed.includes(identity))
    },
  }
}
