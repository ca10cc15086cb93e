/** What is deleted after a while, each with its own time. */
export const retainedThings = ['unpaid', 'bodies', 'events', 'deliveries', 'sends', 'arrivals'] as const

export type RetainedThing = (typeof retainedThings)[number]

/** How long each is kept, in milliseconds; null: for ever. */
type Keeping = Readonly<Record<RetainedThing, number | null>>

/** What an export has written: everything that was due at `asOf`, as it was at `at`. */
export type Exported = { readonly asOf: number; readonly at: number }

/**
 * Whatever is older may go. What was never exported stays where that is asked for, and so does what was written after the last export,
 * though it may be due by now. Null: nothing may go.
 */
export function cutoffOf(keepMs: number | null, now: number, exported: Exported | null | 'not asked'): number | null {
  if (keepMs === null || exported === null) return null
  if (exported === 'not asked') return now - keepMs
  return Math.min(Math.min(now, exported.asOf) - keepMs, exported.at)
}

const DAY_MS = 86_400_000

/** What a file must hold so that nothing is deleted within so many days that is not in it, and what it then stands for. */
export type ExportPlan = Exported & { readonly before: Readonly<Record<RetainedThing, number | null>> }

export function planExport(keep: Keeping, at: number, days: number): ExportPlan {
  const asOf = at + days * DAY_MS
  const moments = retainedThings.map((thing) => [thing, cutoffOf(keep[thing], asOf, { asOf, at })] as const)
  return { asOf, at, before: Object.fromEntries(moments) as Record<RetainedThing, number | null> }
}
