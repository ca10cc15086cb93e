import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Somebody else's server, which does as it likes. */
export type FarServer = {
  readonly url: string
  /** `POST /verify` and so on, with what else came along. */
  readonly heard: readonly { readonly line: string; readonly headers: IncomingMessage['headers'] }[]
  /** What it got rid of, in bytes, before whoever asked hung up. */
  readonly sent: number
  /** All connections that it still has. */
  connections(): Promise<number>
  stop(): Promise<void>
}

export async function startFarServer(
  answer: (response: ServerResponse, request: IncomingMessage) => void,
): Promise<FarServer> {
  const heard: FarServer['heard'][number][] = []
  let sent = 0
  const server = createServer((request, response) => {
    request.resume()
    heard.push({ line: `${request.method} ${request.url}`, headers: request.headers })
    answer(response, request)
  })
  server.on('connection', (socket) =>
    socket.once('close', () => {
      sent += socket.bytesWritten - socket.writableLength
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    get sent() {
      return sent
    },
    connections: () =>
      new Promise((resolve, reject) => server.getConnections((error, n) => (error ? reject(error) : resolve(n)))),
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** Begins as an answer should, and never ends. */
export function endless(response: ServerResponse, chunk = Buffer.alloc(64 * 1024, 'x')): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  }
  response.on('drain', more)
  more()
}

/** One byte now and then, so that no silence is ever long. */
export function dripping(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}
