import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Handler } from '../../src/api/http/reply.ts'
import { requestOf } from '../../src/api/http/request.ts'

/** A handler as a function of the Fetch API, for tests and benches that need no socket. */
export function asFetch(handler: Handler): (request: Request) => Promise<Response> {
  return async (request) => {
    const body = Buffer.from(await request.arrayBuffer())
    const { status, headers, body: answer } = await handler(requestOf(incomingOf(request, body)), {})
    if (answer !== null && typeof answer !== 'string') throw new TypeError('a stream needs a socket')
    return new Response(answer, { status, headers })
  }
}

function incomingOf({ method, url, headers }: Request, body: Buffer): IncomingMessage {
  const { host, pathname, search } = new URL(url)
  const lines = {
    host,
    ...Object.fromEntries(headers),
    ...(body.length > 0 ? { 'content-length': `${body.length}` } : {}),
  }
  return Object.assign(Readable.from(body.length > 0 ? [body] : []), {
    method,
    url: pathname + search,
    headers: lines,
    rawHeaders: Object.entries(lines).flat(),
    socket: { remoteAddress: '127.0.0.1' },
    complete: true,
  }) as unknown as IncomingMessage
}
