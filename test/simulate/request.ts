import type { IncomingMessage } from 'node:http'
import { allHeaders } from '../../src/api/http/reply.ts'
import { requestOf } from '../../src/api/http/request.ts'
import type { HttpApp } from '../../src/api/http/serving.ts'

export type Asked = {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export type Heard = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

const HOST = 'localhost:4020'

/** Through the function that the server calls, without a server: a whole request in, a whole answer out. */
export async function askApp(app: HttpApp, asked: Asked, from: string): Promise<Heard> {
  const reply = await app.answer(requestOf(incomingOf(asked, from)))
  const { status, body } = reply
  const text = typeof body === 'string' ? body : body instanceof Uint8Array ? Buffer.from(body).toString() : ''
  return { status, headers: lowered(allHeaders(reply)), text }
}

function incomingOf({ method, path, headers = {}, body }: Asked, from: string): IncomingMessage {
  const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body))
  const all: Record<string, string> = {
    host: HOST,
    ...(bytes ? { 'content-type': 'application/json', 'content-length': String(bytes.length) } : {}),
    ...headers,
  }
  const incoming = {
    method,
    url: path,
    headers: all,
    rawHeaders: Object.entries(all).flat(),
    socket: { remoteAddress: from },
    complete: true,
    destroyed: false,
    read: () => bytes,
  }
  return incoming as unknown as IncomingMessage
}

/** A flat list of names and values, as they go out. */
function lowered(headers: readonly string[]): Record<string, string> {
  const pairs = headers.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), headers[i + 1]!] as const] : []))
  return Object.fromEntries(pairs)
}
