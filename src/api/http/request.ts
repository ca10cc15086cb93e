import type { IncomingMessage } from 'node:http'
import { newId, type Random } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'

/** One HTTP request, as far as anything past the router needs it. */
export type HttpRequest = {
  readonly method: string
  /** The host that was asked, from the request's target or its Host header. */
  host(): string | undefined
  /** As it was sent, up to the question mark. Nothing is decoded, so the router and the gate cannot see two different paths. */
  readonly path: string
  readonly search: string
  /** By its lower-case name. Lines of the same name are joined by commas, or the first one counts, as Node does. */
  header(name: string): string | undefined
  query(name: string): string | undefined
  /** Whoever is at the other end of the connection, a client or a proxy, as `clientKey` writes it. */
  readonly peer: string
  /** Tells a client that waits for a word before it sends its body (`Expect: 100-continue`) to go on. */
  readonly wantBody: () => void
  /** Waits for what the sender still owes. Whoever is waited for here does not count as work under way. */
  readonly arrived: <Body>(body: Promise<Body>) => Promise<Body>
  readonly incoming: IncomingMessage
}

const ABSOLUTE = /^https?:\/\/([^/?#\\]+)(\/.*)?$/is

/** What only the server knows of a request: whose connection it is, and how to take part in the reading of its body. */
export type Reception = Pick<HttpRequest, 'peer' | 'wantBody' | 'arrived'>

const ALWAYS_THERE: Reception = { peer: 'unknown', wantBody() {}, arrived: (body) => body }

export function requestOf(incoming: IncomingMessage, { peer, wantBody, arrived } = ALWAYS_THERE): HttpRequest {
  const { method = 'GET', url = '/' } = incoming
  const absolute = url.charCodeAt(0) === 0x2f ? null : ABSOLUTE.exec(url)
  const target = absolute ? (absolute[2] ?? '/') : url
  const mark = target.indexOf('?')
  const search = mark === -1 ? '' : target.slice(mark + 1)
  return {
    method,
    host: () => (absolute ? absolute[1] : headerOf(incoming, 'host')),
    path: mark === -1 ? target : target.slice(0, mark),
    search,
    header: (name) => headerOf(incoming, name),
    query: (name) => new URLSearchParams(search).get(name) ?? undefined,
    peer,
    wantBody,
    arrived,
    incoming,
  }
}

/** Looks through the lines as they came: few of them are ever asked for, and most of those are not there. */
function headerOf(incoming: IncomingMessage, name: string): string | undefined {
  const { rawHeaders } = incoming
  let value: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!isNamed(rawHeaders[i]!, name)) continue
    if (value !== undefined) return incoming.headers[name] as string | undefined
    value = rawHeaders[i + 1]
  }
  return value
}

function isNamed(line: string, name: string): boolean {
  return line.length === name.length && (line === name || line.toLowerCase() === name)
}

const FLOW_ID = /^[A-Za-z0-9_.:-]{1,128}$/

/** The caller's own correlation id when it is a decent one, otherwise one of ours. It comes back in `X-Flow-Id`. */
export function flowIdOf(request: HttpRequest, random: Random): string {
  const given = request.header('x-flow-id')
  return given !== undefined && FLOW_ID.test(given) ? given : newId('flow', random)
}

/** How many lines have this name. Node joins or drops repeated headers, so the raw lines are asked. */
export function linesOf({ incoming: { rawHeaders } }: HttpRequest, name: string): number {
  let lines = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (isNamed(rawHeaders[i]!, name)) lines++
  }
  return lines
}

const JSON_ACCEPTED = /(?:^|,)\s*(?:application\/(?:json|\*)|\*\/\*)\s*(?:;(?!\s*q=0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)/i

/** Nobody who excludes JSON can read what these routes say. No Accept at all means anything goes. */
export function assertAcceptsJson(request: HttpRequest): void {
  const accept = request.header('accept')
  if (accept === undefined || accept === '*/*' || accept === '' || JSON_ACCEPTED.test(accept)) return
  throw new Problem('not_acceptable', 'This route answers application/json only; accept that, or leave Accept out.')
}

/** A parameter given twice is a contradiction, not a list. */
export function queryOf({ search }: HttpRequest): Readonly<Record<string, string>> {
  if (search === '') return {}
  const query: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(search)) {
    if (name in query) throw new Problem('duplicate_key', `The parameter ${name.slice(0, 64)} is given twice.`)
    query[name] = value
  }
  return query
}
