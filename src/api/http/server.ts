import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Log } from '../../base/log.ts'
import { Problem } from '../../base/problem.ts'
import type { HttpConfig } from '../../config/config.ts'
import type { Limits } from '../../config/limits.ts'
import { discardRest } from './body.ts'
import { createHeadWriter } from './head.ts'
import { type Reply, rawReply, send } from './reply.ts'
import { type HttpRequest, requestOf } from './request.ts'
import { createConnectionCap, createPipelines, createWriteWatch, type Exchange } from './sockets.ts'

export type HttpServer = {
  readonly port: number
  /** Stops accepting, and resolves when every request that was accepted has its answer. */
  drain(): Promise<void>
  /** Cuts whatever is left. */
  close(): Promise<void>
}

/** What answers requests. The server knows nothing else of the shop. */
export type HttpApp = {
  /** Never rejects: whatever goes wrong is an answer too. */
  answer(request: HttpRequest): Promise<Reply>
  /** Is it to be answered however much is under way? */
  isVital(request: HttpRequest): boolean
  /** The answer to what never became a request, or will not be looked at. */
  refusal(problem: Problem): Reply
}

export type ServerOptions = {
  readonly app: HttpApp
  readonly http: HttpConfig
  readonly limits: Limits
  readonly log: Log
}

/** Bytes on sockets become requests here, and answers become bytes. What they mean is the app's business. */
export async function startServer({ app, http, limits, log }: ServerOptions): Promise<HttpServer> {
  const draining = new AbortController()
  const writeHead = createHeadWriter(limits.keepAliveMs)
  const writes = createWriteWatch(limits.writeMsMax)
  const pipelines = createPipelines(limits.pipelineMax)
  /** Requests that are worked on: neither still arriving, nor answered and on their way out. */
  let underWay = 0
  /** Requests that a stop waits for: all that were let in, until their answer has left. */
  let open = 0
  let onIdle = () => {}

  /** A request whose sender takes their time holds no place; it gets one back when there is one. */
  async function arrived<Body>(body: Promise<Body>): Promise<Body> {
    underWay--
    const whole = await body.finally(() => {
      underWay++
    })
    if (underWay > limits.requestsMax) throw overloaded()
    return whole
  }

  async function answer(request: HttpRequest): Promise<Reply> {
    underWay++
    try {
      if (underWay > limits.requestsMax && !app.isVital(request)) return app.refusal(overloaded())
      return await app.answer(request)
    } finally {
      underWay--
    }
  }

  async function serve(exchange: Exchange, wantBody?: () => void): Promise<void> {
    const { incoming, outgoing } = exchange
    const body = { isRefused: wantBody !== undefined }
    const request = requestOf(incoming, {
      arrived,
      wantBody() {
        body.isRefused = false
        wantBody?.()
      },
    })
    const reply = await answer(request)
    if (!incoming.complete && !body.isRefused) await discardRest(incoming)
    const isLast = !incoming.complete || draining.signal.aborted
    const sending = send(outgoing, isLast ? closing(reply) : reply, writeHead, () => endOf(exchange, draining.signal))
    if (sending === undefined && isHandedOver(outgoing)) return
    const end = writes.begin(incoming.socket)
    try {
      if (sending !== undefined) await sending
      if (!isHandedOver(outgoing)) await finished(exchange)
    } finally {
      end()
    }
  }

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse, wantBody?: () => void): Promise<void> {
    const exchange = pipelines.enter(incoming, outgoing)
    if (!exchange) return
    open++
    try {
      await serve(exchange, wantBody)
    } catch (error) {
      log.error('answer could not be sent', { error })
      outgoing.destroy()
    } finally {
      pipelines.leave(exchange)
      open--
      if (open === 0) onIdle()
    }
  }

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
  // Behind a proxy all clients come from one address, and the proxy counts them.
  if (http.proxyHops === 0) server.on('connection', createConnectionCap(limits.connectionsPerClientMax))
  server.on('request', (incoming, outgoing) => void handle(incoming, outgoing))
  server.on('checkContinue', (incoming, outgoing) => void handle(incoming, outgoing, () => outgoing.writeContinue()))
  server.on('checkExpectation', (incoming, outgoing) => void handle(incoming, outgoing))
  /** Sockets that said something which is no request. They may go on saying it until the answer before it is through. */
  const doomed = new WeakSet<Duplex>()
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // A request before this one is whole, and perhaps being paid for: its answer must be the last thing on this socket.
    const whole = pipelines.of(socket).findLast(({ incoming }) => incoming.complete)
    if (doomed.has(socket)) return
    doomed.add(socket)
    if (whole) whole.outgoing.once('close', () => socket.destroy())
    else if (!socket.writable || error.code === 'ECONNRESET') socket.destroy()
    else socket.end(rawReply(app.refusal(malformed(error))), () => socket.destroy())
  })
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
      if (open === 0) return
      await new Promise<void>((resolve) => {
        onIdle = resolve
      })
    },
    async close() {
      server.closeAllConnections()
      writes.stop()
      await closed
    },
  }
}

function closing(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers, Connection: 'close' } }
}

function overloaded(): Problem {
  return new Problem('overloaded', 'Too many requests are under way; nothing was taken.')
}

/** To the operating system. */
function isHandedOver({ writableEnded, writableLength }: ServerResponse): boolean {
  return writableEnded && writableLength === 0
}

/** When the answer has been handed over, or nobody is left to take it. */
async function finished(exchange: Exchange): Promise<void> {
  const { incoming, outgoing } = exchange
  if (outgoing.destroyed || incoming.socket.destroyed) return
  await new Promise<void>((resolve) => {
    outgoing.once('close', resolve)
    exchange.onGone = resolve
  })
}

/** What ends an answer that has no end of its own. */
function endOf(exchange: Exchange, stopping: AbortSignal): AbortSignal {
  const gone = new AbortController()
  if (exchange.incoming.socket.destroyed) gone.abort()
  exchange.onGone = () => gone.abort()
  return AbortSignal.any([stopping, gone.signal])
}

/** Node's parser gave up before there was a request. */
function malformed({ code }: NodeJS.ErrnoException): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('header_too_large', 'The headers are larger than 16 KiB together; nothing was taken.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request_timeout', 'The request took too long to arrive; nothing was taken.')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Problem('body_too_large', 'The extensions of a chunk are too large; nothing was taken.')
    default:
      return new Problem('invalid_request', 'This is not a well-formed HTTP/1.1 request; nothing was taken.')
  }
}
