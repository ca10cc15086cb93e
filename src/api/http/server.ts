import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Log } from '../../base/log.ts'
import { Problem } from '../../base/problem.ts'
import type { HttpConfig } from '../../config/config.ts'
import type { Limits } from '../../config/limits.ts'
import { rawReply } from './reply.ts'
import { createServing, type HttpApp } from './serving.ts'
import { createPipelines, createWriteWatch, type Pipelines } from './sockets.ts'

type HttpServer = {
  readonly port: number
  /** Stops accepting, and resolves when every request that was accepted has its answer. */
  drain(): Promise<void>
  /** Cuts whatever is left. */
  close(): Promise<void>
}

type ServerOptions = {
  readonly app: HttpApp
  readonly http: HttpConfig
  readonly limits: Limits
  readonly log: Log
  /** Hears of every connection that was refused or cut because there were too many. */
  readonly onTurnedAway: (what: 'connections' | 'sockets') => void
}

/** Bytes on sockets become requests here, and answers become bytes. What they mean is the app's business. */
export async function startServer({ app, http, limits, log, onTurnedAway }: ServerOptions): Promise<HttpServer> {
  const draining = new AbortController()
  const writes = createWriteWatch(limits.writeMsMax)
  // Behind a proxy all clients come from one address, and the proxy counts them.
  const atWorkMax = http.proxyHops === 0 ? limits.connectionsPerClientMax : Number.POSITIVE_INFINITY
  const pipelines = createPipelines({ lengthMax: limits.pipelineMax, atWorkMax, onTurnedAway })
  const { handle, idle } = createServing({ app, limits, log, pipelines, writes, draining: draining.signal })
  const server = createListener(limits)
  server.on('connection', pipelines.open)
  server.on('drop', () => onTurnedAway('sockets'))
  server.on('request', (incoming, outgoing) => void handle(incoming, outgoing))
  server.on('checkContinue', (incoming, outgoing) => void handle(incoming, outgoing, () => outgoing.writeContinue()))
  server.on('checkExpectation', (incoming, outgoing) => void handle(incoming, outgoing))
  server.on('clientError', (error, socket) => refuse(error, socket, pipelines, app))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(http.port, http.host, resolve)
  })
  const closed = new Promise<void>((resolve) => server.once('close', resolve))

  return {
    port: (server.address() as AddressInfo).port,
    async drain() {
      draining.abort()
      server.close()
      await idle()
    },
    async close() {
      server.closeAllConnections()
      writes.stop()
      await closed
    },
  }
}

function createListener(limits: Limits): Server {
  const server = createServer({
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersMsMax,
    requestTimeout: limits.requestMsMax,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: 1_000,
    insecureHTTPParser: false,
    // Missed by ourselves, in our own words.
    requireHostHeader: false,
  })
  server.maxConnections = limits.connectionsMax
  return server
}

/** Answers what is no request, once. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex, pipelines: Pipelines, app: HttpApp): void {
  if (!pipelines.doom(socket)) return
  // A request before this one is whole, and perhaps being paid for: its answer must be the last thing on this socket.
  const whole = pipelines.of(socket).findLast(({ incoming }) => incoming.complete)
  if (whole) whole.outgoing.once('close', () => socket.destroy())
  else if (!socket.writable || error.code === 'ECONNRESET') socket.destroy()
  else socket.end(rawReply(app.refusal(malformed(error))), () => socket.destroy())
}

/** Node's parser gave up before there was a request. What was to come with it nobody knows: it may show money that its payer has sent. */
function malformed({ code }: NodeJS.ErrnoException): Problem {
  const claim = { taken: 'unknown' } as const
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('header_too_large', 'The headers are larger than 16 KiB together.', claim)
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request_timeout', 'The request took too long to arrive.', claim)
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Problem('body_too_large', 'The extensions of a chunk are too large.', claim)
    default:
      return new Problem('invalid_request', 'This is not a well-formed HTTP/1.1 request.', claim)
  }
}
