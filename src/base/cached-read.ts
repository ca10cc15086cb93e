import { type Clock, msSince } from './clock.ts'

/** A reading that many may share: it is made anew at most once every `maxAgeMs`, and a failed one is never shared. */
export function cachedRead<Value>(clock: Clock, maxAgeMs: number, read: () => Promise<Value>): () => Promise<Value> {
  let shared: { readonly at: number; readonly value: Promise<Value> } | null = null
  return () => {
    if (shared !== null && msSince(clock, shared.at) <= maxAgeMs) return shared.value
    const value = read()
    const reading = { at: clock.now(), value }
    value.catch(() => {
      if (shared === reading) shared = null
    })
    shared = reading
    return value
  }
}

/** The same for what is asked so often that even a turn of waiting costs: a reading that is there is handed out at once. */
export function cachedValue<Value>(
  clock: Clock,
  maxAgeMs: number,
  read: () => Promise<Value>,
): () => Value | Promise<Value> {
  let last: { readonly at: number; readonly value: Value } | null = null
  let reading: Promise<Value> | null = null
  async function readAnew(at: number): Promise<Value> {
    try {
      const value = await read()
      last = { at, value }
      return value
    } finally {
      reading = null
    }
  }
  return () => {
    if (last !== null && msSince(clock, last.at) <= maxAgeMs) return last.value
    reading ??= readAnew(clock.now())
    return reading
  }
}
