import { sha256Hex, stringify } from '../../base/json.ts'
import type { FreeAnswer, Host } from '../../domain/route.ts'
import type { Facts, FactsSource } from '../facts/facts.ts'

type Printed = (call: { readonly host: Host }) => Promise<FreeAnswer>
type Write<Document> = (facts: Facts) => Document

/** Writes a document when the facts have changed, and hands out the same text until they change again. */
export type DocumentCache = {
  text(write: Write<string>, headers?: Readonly<Record<string, string>>): Printed
  json(write: Write<unknown>): Printed
  /** A document of which nearly nothing ever changes: `prepare` is called once for each host, and the writer that it returns with all facts. */
  prepared(prepare: (first: Facts) => Write<unknown>): Printed
}

/** Below this, Node sends a string faster than bytes, because it goes out in one piece with the headers. */
const LARGE_CHARS = 16_384

export function createDocumentCache(factsOf: FactsSource): DocumentCache {
  function kept(prepare: (first: Facts) => Write<string>, headers: Readonly<Record<string, string>> = {}): Printed {
    const rendererOf = new Map<Host, (facts: Facts) => FreeAnswer>()
    return async ({ host }) => {
      const facts = await factsOf(host)
      let render = rendererOf.get(host)
      if (render === undefined) {
        render = createRenderer(prepare(facts), headers)
        rendererOf.set(host, render)
      }
      return render(facts)
    }
  }
  return {
    text: (write, headers) => kept(() => write, headers),
    json: (write) => kept(() => (facts) => stringify(write(facts))),
    prepared: (prepare) =>
      kept((first) => {
        const write = prepare(first)
        return (facts) => stringify(write(facts))
      }),
  }
}

/** One document of one host. */
function createRenderer(write: Write<string>, headers: Readonly<Record<string, string>>): (facts: Facts) => FreeAnswer {
  let last: { readonly revision: number; readonly answer: FreeAnswer } | null = null
  return (facts) => {
    if (last?.revision === facts.revision) return last.answer
    const body = write(facts)
    const answer = {
      body,
      ...(body.length > LARGE_CHARS ? { bytes: Buffer.from(body) } : {}),
      headers: { ...headers, ETag: `"${sha256Hex(body).slice(0, 32)}"` },
    }
    last = { revision: facts.revision, answer }
    return answer
  }
}
