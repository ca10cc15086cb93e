import { sha256Hex, stringify } from '../../base/json.ts'
import type { FreeAnswer, Host } from '../../domain/route.ts'
import type { Facts, FactsSource } from './facts.ts'

type Printed = (call: { readonly host: Host }) => Promise<FreeAnswer>

/** Writes a document when the facts have changed, and hands out the same text until they change again. */
type DocumentCache = {
  text(write: (facts: Facts) => string, headers?: Readonly<Record<string, string>>): Printed
  json(write: (facts: Facts) => unknown): Printed
}

/** Below this, Node sends a string faster than bytes, because it goes out in one piece with the headers. */
const LARGE_CHARS = 16_384

export function createDocumentCache(factsOf: FactsSource): DocumentCache {
  function text(write: (facts: Facts) => string, headers: Readonly<Record<string, string>> = {}): Printed {
    const printed = new WeakMap<Facts, FreeAnswer>()
    return async ({ host }) => {
      const facts = await factsOf(host)
      const known = printed.get(facts)
      if (known) return known
      const body = write(facts)
      const fresh = {
        body,
        ...(body.length > LARGE_CHARS ? { bytes: Buffer.from(body) } : {}),
        headers: { ...headers, ETag: `"${sha256Hex(body).slice(0, 32)}"` },
      }
      printed.set(facts, fresh)
      return fresh
    }
  }
  return { text, json: (write) => text((facts) => stringify(write(facts))) }
}
