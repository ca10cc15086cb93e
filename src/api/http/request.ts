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
  /** Tells a client that waits for a word before it sends its body (`Expect: 100-continue`) to go on. */
  readonly wantBody: () => void
  /** Waits for what the sender still owes. Whoever is waited for here does not count as work under way. */
  readonly arrived: <Body>(body: Promise<Body>) => Promise<Body>
  readonly incoming: IncomingMessage
}

const ABSOLUTE = /^https?:\/\/([^/?#\\]+)(\/.*)?$/is

/** How the server takes part in the reading of a body. */
export type Reception = Pick<HttpRequest, 'wantBody' | 'arrived'>

const ALWAYS_THERE: Reception = { wantBody() {}, arrived: (body) => body }

export function requestOf(incoming: IncomingMessage, { wantBody, arrived } = ALWAYS_THERE): HttpRequest {
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

const PAYMENT_SCHEME = /^\s*Payment\s/i

/**
 * Is this request meant to pay? Then by exactly one payment, of one protocol, in one header: two could be read differently by a proxy
 * and by us.
 */
export function hasPayment(request: HttpRequest): boolean {
  const signature = request.header('payment-signature')
  const authorization = request.header('authorization')
  if (signature === undefined && authorization === undefined) return false
  const credentials = (authorization ?? '')
    .split(/,\s*(?=Payment\s)/i)
    .filter((part) => PAYMENT_SCHEME.test(part)).length
  const isAmbiguous =
    linesOf(request, 'payment-signature') > 1 ||
    linesOf(request, 'authorization') > 1 ||
    credentials > 1 ||
    (signature !== undefined && (credentials === 1 || signature.includes(',')))
  if (isAmbiguous) throw new Problem('ambiguous_payment', 'Send exactly one payment header, once; nothing was taken.')
  return signature !== undefined || PAYMENT_SCHEME.test(authorization!)
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

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

/** The body, by our own count: a length header may lie, and a chunked body has none. Empty, and at once, when nothing was sent. */
export function readBody(request: HttpRequest, bytesMax: number): Uint8Array | Promise<Uint8Array> {
  const length = request.header('content-length')
  const isChunked = request.header('transfer-encoding') !== undefined
  if (!isChunked && (length === undefined || length === '0')) {
    // Node looks through what nobody has read once more before it goes on to the next request.
    request.incoming.read()
    return NOTHING
  }
  if (Number(length ?? 0) > bytesMax) throw tooLarge(bytesMax)
  return readJson(request, bytesMax)
}

async function readJson(request: HttpRequest, bytesMax: number): Promise<Uint8Array> {
  const { incoming } = request
  request.wantBody()
  // We were called when the headers had been read. Now the parser may finish what else has arrived, on all connections: a short body is
  // then here, and is taken as it lies. To be told of each piece of it would cost more than to read it.
  await new Promise(setImmediate)
  const isHere = incoming.complete && !incoming.destroyed
  const body = isHere
    ? ((incoming.read() as Buffer | null) ?? NOTHING)
    : await request.arrived(readStream(incoming, bytesMax))
  if (body.length === 0) return NOTHING
  if (body.length > bytesMax) throw tooLarge(bytesMax)
  if (request.header('content-encoding') !== undefined)
    throw new Problem('unsupported_media_type', 'Send the body without compression.')
  if (!JSON_TYPE.test(request.header('content-type') ?? ''))
    throw new Problem('unsupported_media_type', 'Send the body as Content-Type: application/json.')
  return body
}

const NOTHING = new Uint8Array()

function readStream(incoming: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const broken = () => reject(new Problem('invalid_json', 'The body did not arrive whole.'))
    if (incoming.destroyed) return broken()
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= bytesMax) chunks.push(chunk)
      else reject(tooLarge(bytesMax))
    })
    incoming.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    incoming.on('error', broken)
  })
}

function tooLarge(bytesMax: number): Problem {
  return new Problem('body_too_large', `The body is larger than ${bytesMax / 1024} KiB.`)
}

/** Whoever sends more than is wanted is heard out this far: an answer to somebody who is still talking is often lost. */
const EXCESS_BYTES_MAX = 1 << 20

/** Reads on to the end of the body and keeps nothing. Resolves early when there is no end in sight. */
export function discardRest(incoming: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    if (incoming.destroyed) return resolve()
    let size = 0
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= EXCESS_BYTES_MAX) return
      incoming.pause()
      resolve()
    })
    for (const end of ['end', 'error', 'close']) incoming.once(end, () => resolve())
    incoming.resume()
  })
}

/** No body, or `{}`: a question for the price. */
export function isEmptyBody(body: Uint8Array): boolean {
  return body.length === 0 || (body.length <= 16 && /^\s*\{\s*\}\s*$/.test(Buffer.from(body).toString('latin1')))
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
