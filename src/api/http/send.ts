import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { allHeaders, type Reply } from './reply.ts'
import type { OpenExchange } from './sockets.ts'

/**
 * What is handed over in one piece. Node tells of a write only when all of it is through, so a larger one would look like a reader who
 * takes nothing. A system that had no room asks for more only when a good part of its buffer is free again, and that is more than this.
 */
export const PIECE_BYTES = 64 * 1024

/**
 * A promise where something is left to do: a stream, which ends when its reader goes or `stopping` says so, or an answer of several pieces.
 * It resolves when the last byte was handed over to Node.
 */
export function send(exchange: OpenExchange, reply: Reply, stopping: AbortSignal): Promise<void> | undefined {
  const { body } = reply
  // Whoever asked may be gone; the work was done all the same, and a resend gets its result.
  if (exchange.outgoing.destroyed) return undefined
  if (body === null || typeof body === 'string' || body instanceof Uint8Array)
    return sendWhole(exchange, reply, body ?? '')
  return sendStream(exchange, reply, body, stopping)
}

function sendWhole(exchange: OpenExchange, reply: Reply, body: string | Uint8Array): Promise<void> | undefined {
  const { outgoing } = exchange
  const { status } = reply
  const length = Buffer.byteLength(body)
  const list = allHeaders(reply)
  if (status !== 204 && status !== 304) list.push('Content-Length', String(length))
  outgoing.writeHead(status, list)
  if (length > PIECE_BYTES) return sendPieces(exchange, bytesOf(body))
  // As many bytes as characters means ASCII, which Node writes at once; for UTF-8 it reserves three bytes for each character, and a few
  // kilobytes are then too large for its fast path.
  outgoing.end(body, length === body.length ? 'latin1' : 'utf8')
  return undefined
}

async function sendPieces(exchange: OpenExchange, bytes: Uint8Array): Promise<void> {
  const { incoming, outgoing } = exchange
  const last = bytes.length - PIECE_BYTES
  let at = 0
  for (; at < last && !incoming.socket.destroyed; at += PIECE_BYTES) {
    if (!outgoing.write(bytes.subarray(at, at + PIECE_BYTES))) await drained(exchange)
  }
  if (!outgoing.destroyed) outgoing.end(bytes.subarray(at))
}

/** When what was handed over has gone, or nobody is left to take it. */
function drained(exchange: OpenExchange): Promise<void> {
  return new Promise((resolve) => {
    exchange.outgoing.once('drain', resolve)
    exchange.onGone = resolve
  })
}

async function sendStream(
  exchange: OpenExchange,
  reply: Reply,
  body: AsyncIterable<string | Uint8Array>,
  stopping: AbortSignal,
): Promise<void> {
  const { outgoing } = exchange
  const signal = endOf(exchange, stopping)
  outgoing.writeHead(reply.status, allHeaders(reply))
  outgoing.flushHeaders()
  await pipeline(Readable.from(inPieces(body)), outgoing, { signal }).catch((error: NodeJS.ErrnoException) => {
    if (error.name !== 'AbortError' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  })
}

/** What ends an answer that has no end of its own. */
function endOf(exchange: OpenExchange, stopping: AbortSignal): AbortSignal {
  const gone = new AbortController()
  if (exchange.incoming.socket.destroyed) gone.abort()
  exchange.onGone = () => gone.abort()
  return AbortSignal.any([stopping, gone.signal])
}

async function* inPieces(body: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    const bytes = bytesOf(chunk)
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
  }
}

function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body
}
