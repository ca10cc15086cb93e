import { type ServerResponse, STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { HttpRequest } from './request.ts'

export type Headers = Readonly<Record<string, string>>

/** What goes back. A stream is for answers that have no end yet, such as an operator's event feed. */
export type Reply = {
  readonly status: number
  /** Headers that many answers have in common, always the same object, so that they need to be written out only once. */
  readonly fixed?: Headers
  /** The others; none of them is among the fixed ones. */
  readonly headers: Headers
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array> | null
}

/** Writes status and headers of an answer whose length is known. */
export type HeadWriter = (outgoing: ServerResponse, head: Omit<Reply, 'body'>, length: number) => void

export function allHeaders({ fixed, headers }: Pick<Reply, 'fixed' | 'headers'>): Headers {
  return fixed ? { ...fixed, ...headers } : headers
}

/** Replies one path. `params` are what stands in the path's placeholders. */
export type Handler = (request: HttpRequest, params: Readonly<Record<string, string>>) => Promise<Reply>

/** A promise only for a stream, which ends when its signal says so; it resolves when the last byte was handed over. */
export function send(
  outgoing: ServerResponse,
  reply: Reply,
  writeHead: HeadWriter,
  endOfStream: () => AbortSignal,
): Promise<void> | undefined {
  const { body } = reply
  // Whoever asked may be gone; the work was done all the same, and a resend gets its result.
  if (outgoing.destroyed) return undefined
  if (body === null || typeof body === 'string' || body instanceof Uint8Array)
    return sendWhole(outgoing, reply, writeHead, body ?? '')
  return sendStream(outgoing, reply, body, endOfStream())
}

function sendWhole(
  outgoing: ServerResponse,
  reply: Reply,
  writeHead: HeadWriter,
  body: string | Uint8Array,
): undefined {
  const { status } = reply
  const length = Buffer.byteLength(body)
  if (status === 204 || status === 304) outgoing.writeHead(status, allHeaders(reply))
  else writeHead(outgoing, reply, length)
  // As many bytes as characters means ASCII, which Node writes at once; for UTF-8 it reserves three bytes for each character, and a few
  // kilobytes are then too large for its fast path.
  outgoing.end(body, length === body.length ? 'latin1' : 'utf8')
}

async function sendStream(
  outgoing: ServerResponse,
  reply: Reply,
  body: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  outgoing.writeHead(reply.status, allHeaders(reply))
  outgoing.flushHeaders()
  await pipeline(Readable.from(body), outgoing, { signal }).catch((error: NodeJS.ErrnoException) => {
    if (error.name !== 'AbortError' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  })
}

/** The bytes of an answer to something that never became a request, for a socket that is closed behind it. */
export function rawReply(reply: Reply): string {
  const { status, body } = reply
  const text = typeof body === 'string' ? body : ''
  const lines = Object.entries({ ...allHeaders(reply), 'Content-Length': Buffer.byteLength(text), Connection: 'close' })
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`
}
