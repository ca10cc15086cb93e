import type { Clock } from './clock.ts'

/** A reading that many may share: it is made anew at most once every `maxAgeMs`, and a failed one is never shared. */
export function cachedRead<Value>(clock: Clock, maxAgeMs: number, read: () => Promise<Value>): () => Promise<Value> {
  let shared: { readonly at: number; readonly value: Promise<Value> } | null = null
  return () => {
    const now = clock.now()
    if (shared !== null && now - shared.at <= maxAgeMs) return shared.value
    const value = read()
    const reading = { at: now, value }
    value.catch(() => {
      if (shared === reading) shared = null
    })
    shared = reading
    return value
  }
}
