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
