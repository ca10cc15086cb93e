import { systemExchange } from '../base/outgoing.ts'

const ANSWER_MS_MAX = 60_000
const ANSWER_BYTES_MAX = 32 << 20
/** A `Response` of these may have no body, not even an empty one. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304])

/** `fetch` for commands: whoever is asked has so much time and so much room for the answer, and sends us to nobody else. */
export const boundedFetch = fetchWithin(ANSWER_MS_MAX)

export function fetchWithin(timeoutMs: number): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const { url, method } = request
    const body = method === 'GET' || method === 'HEAD' ? {} : { body: await request.text() }
    // A kept connection may have been closed by the other side while a command was busy, loading a stock client for seconds.
    const headers = { ...Object.fromEntries(request.headers), connection: 'close' }
    const answer = await systemExchange({ url, method, headers, ...body, timeoutMs, bytesMax: ANSWER_BYTES_MAX })
    const { status, text } = answer
    const pairs = Object.entries(answer.headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((one): [string, string] => [name, one]),
    )
    return new Response(EMPTY.has(status) ? null : text, { status, headers: pairs })
  }
}
