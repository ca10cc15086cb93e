import type { IncomingMessage } from 'node:http'
import { Problem } from '../../base/problem.ts'
import type { HttpRequest } from './request.ts'

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
  // We were called when the headers had been read, and the queues of this turn are emptied before the body is: only the next turn finds
  // what came with the headers, and takes it as it lies. To be told of each piece of it would cost more than to read it.
  if (!incoming.complete) await new Promise(setImmediate)
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
