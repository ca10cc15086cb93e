import type { Clock } from '../../base/clock.ts'

/** So many calls in one window, for each caller. */
type RateQuota = { readonly name: string; readonly quota: number; readonly windowMs: number }

/** What is left after a call was counted, or why it was not. */
export type RateGrant = { readonly isGranted: boolean; readonly left: number; readonly resetSeconds: number }

type Entry = {
  window: number
  /** Spreads the ends of windows, so that callers who wait for theirs do not all return in the same second. */
  readonly phaseMs: number
  own: number
  /** The part of `own` that the other replicas can know of. */
  reported: number
  /** What all replicas together had reported when we last asked. */
  total: number
}

export type RateReport = { readonly name: string; readonly window: number; readonly hits: number }

/** Counts the calls of many callers, in bounded memory, and lets other replicas' counts in. */
export type RateCounter = {
  take(caller: string): RateGrant
  /** Looks without counting. */
  peek(caller: string): RateGrant
  /** What others do not know of yet, by callers who come often enough to matter. */
  unreported(): readonly RateReport[]
  /** Takes in what all replicas counted together, `reported` of which was ours. */
  learn(total: RateReport, reported: number): void
  readonly size: number
}

type RateCounterOptions = {
  readonly allowance: RateQuota
  readonly callersMax: number
  readonly clock: Clock
  /** Called when there is something new to report. */
  readonly onHot?: () => void
}

/** Fewer calls than this part of the quota cannot matter, and nobody else is told of them: an ordinary client causes no write at all. */
const HOT_PART = 1 / 60

export function createRateCounter({ allowance, callersMax, clock, onHot }: RateCounterOptions): RateCounter {
  const { name, quota, windowMs } = allowance
  const hotFrom = Math.max(1, Math.floor(quota * HOT_PART))
  const hot = new Map<string, Entry>()
  // Two generations instead of a list in order of use: whoever is not seen for half the room is forgotten, at no cost per call.
  let recent = new Map<string, Entry>()
  let older = new Map<string, Entry>()

  function entryOf(caller: string, now: number): Entry {
    let entry = recent.get(caller)
    if (entry === undefined) {
      entry = older.get(caller) ?? { window: -1, phaseMs: phaseOf(caller, windowMs), own: 0, reported: 0, total: 0 }
      if (recent.size >= callersMax / 2) {
        older = recent
        recent = new Map()
      }
      recent.set(caller, entry)
    }
    const window = Math.floor((now + entry.phaseMs) / windowMs)
    if (entry.window !== window) {
      entry.window = window
      entry.own = 0
      entry.reported = 0
      entry.total = 0
    }
    return entry
  }

  function grant(entry: Entry, now: number, isGranted: boolean): RateGrant {
    const left = Math.max(0, quota - Math.ceil(usedBy(entry)))
    return { isGranted, left, resetSeconds: Math.ceil((windowMs - ((now + entry.phaseMs) % windowMs)) / 1000) }
  }

  return {
    take(caller) {
      const now = clock.now()
      const entry = entryOf(caller, now)
      if (usedBy(entry) >= quota) return grant(entry, now, false)
      entry.own++
      if (onHot && unreportedBy(entry) >= hotFrom) {
        hot.set(caller, entry)
        onHot()
      }
      return grant(entry, now, true)
    },
    peek(caller) {
      const now = clock.now()
      const entry = entryOf(caller, now)
      return grant(entry, now, usedBy(entry) < quota)
    },
    unreported() {
      const reports = [...hot].map(([caller, { window, own, reported }]) => ({
        name: `${name} ${caller}`,
        window,
        hits: own - reported,
      }))
      hot.clear()
      return reports.filter(({ hits }) => hits > 0)
    },
    learn(total, reported) {
      const caller = total.name.slice(name.length + 1)
      const entry = recent.get(caller) ?? older.get(caller)
      if (entry?.window !== total.window) return
      entry.reported += reported
      entry.total = total.hits
    },
    get size() {
      return recent.size + older.size
    },
  }
}

/**
 * What a caller has used up, everywhere. Since we last asked, the others have counted on as we have: what is not reported yet is taken
 * for the same part of the whole as what is.
 */
function usedBy(entry: Entry): number {
  return knownOf(entry) + unreportedBy(entry)
}

/** What is only guessed so far: a few calls to us may stand for many when the others see most of this caller. */
function unreportedBy(entry: Entry): number {
  const { own, reported } = entry
  return reported === 0 ? own : (own - reported) * (knownOf(entry) / reported)
}

/** A store that was restarted may have forgotten some. */
function knownOf({ reported, total }: Entry): number {
  return reported === 0 ? 0 : Math.max(total, reported)
}

/** FNV-1a: the same on every replica. */
function phaseOf(caller: string, windowMs: number): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < caller.length; i++) hash = Math.imul(hash ^ caller.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % windowMs
}
