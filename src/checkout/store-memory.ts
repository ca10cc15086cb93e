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
  /** May what somebody was asked for then have bought already, and the store have forgotten it? */
  mayHaveForgotten(askedAt: number | null): boolean
  /** From now on this is the history that counts; the missed payments are no longer expected in it, and it may have forgotten what was asked for earlier. */
  accept(lineage: string, known: { readonly missed: readonly string[]; readonly trustedSince: number }): void
}

/** More than one process has under way at once: whatever was written before the oldest of them is there if it is. */
const REMEMBERED = 64

export function createStoreMemory(): StoreMemory {
  let lineage: string | null = null
  let recent: string[] = []
  let since = 0
  return {
    lineage: () => lineage,
    remember(identity) {
      recent.push(identity)
      if (recent.length > REMEMBERED) recent.shift()
    },
    recent: () => [...recent],
    mayHaveForgotten: (askedAt) => askedAt !== null && askedAt < since,
    accept(accepted, { missed, trustedSince }) {
      lineage = accepted
      since = trustedSince
      // What was remembered since is not among them: it has not been looked for yet.
      recent = recent.filter((identity) => !missed.includes(identity))
    },
  }
}
