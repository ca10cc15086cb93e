import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Log } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import type { HttpConfig } from '../config/config.ts'
import type { Limits } from '../config/limits.ts'
import { discardRest, requestOf } from './exchange.ts'
import { createHeadWriter } from './head.ts'
import type { HttpApp } from './http.ts'
import { type Reply, rawReply, send } from './reply.ts'

export type HttpServer = {
  readonly port: number
  /** Stops accepting, and resolves when every request that was accepted has its answer. */
  drain(): Promise<void>
  /** Cuts whatever is left. */
  close(): Promise<void>
}

export type ServerOptions = {
  readonly app: HttpApp
  readonly http: HttpConfig
  readonly limits: Limits
  readonly log: Log
}

type Exchange = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse }

/** Bytes on sockets become requests here, and answers become bytes. What they mean is the app's business. */
export async function startServer({ app, http, limits, log }: ServerOptions): Promise<HttpServer> {
  const draining = new AbortController()
  const writeHead = createHeadWriter(limits.keepAliveMs)
  /** The requests of a socket that have no answer yet; more than one when a client does not wait for answers. */
  const unanswered = new WeakMap<Duplex, Set<Exchange>>()
  let underWay = 0
  let onIdle = () => {}

  async function exchange(incoming: IncomingMessage, outgoing: ServerResponse, wantBody?: () => void): Promise<void> {
    const body = { isRefused: wantBody !== undefined }
    const request = requestOf(incoming, () => {
      body.isRefused = false
      wantBody?.()
    })
    const reply = underWay > limits.requestsMax ? app.refusal(overloaded()) : await app.answer(request)
    if (!incoming.complete && !body.isRefused) await discardRest(incoming)
    const isLast = !incoming.complete || draining.signal.aborted
    const sending = send(outgoing, isLast ? closing(reply) : reply, writeHead, draining.signal)
    if (sending !== undefined) await sending
  }

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse, wantBody?: () => void): Promise<void> {
    const own = { incoming, outgoing }
    const ofSocket = unanswered.get(incoming.socket) ?? new Set()
    unanswered.set(incoming.socket, ofSocket.add(own))
    underWay++
    try {
      await exchange(incoming, outgoing, wantBody)
      if (!isHandedOver(outgoing)) await finished(incoming, outgoing)
    } catch (error) {
      log.error('answer could not be sent', { error })
      outgoing.destroy()
    } finally {
      ofSocket.delete(own)
      underWay--
      if (underWay === 0) onIdle()
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
  server.on('request', (incoming, outgoing) => void handle(incoming, outgoing))
  server.on('checkContinue', (incoming, outgoing) => void handle(incoming, outgoing, () => outgoing.writeContinue()))
  server.on('checkExpectation', (incoming, outgoing) => void handle(incoming, outgoing))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // A request before this one is whole, and perhaps being paid for: its answer must be the last thing on this socket.
    const whole = [...(unanswered.get(socket) ?? [])].findLast(({ incoming }) => incoming.complete)
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
      if (underWay === 0) return
      await new Promise<void>((resolve) => {
        onIdle = resolve
      })
    },
    async close() {
      server.closeAllConnections()
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
async function finished({ socket }: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed || socket.destroyed) return
  await new Promise<void>((resolve) => {
    const done = () => {
      socket.off('close', done)
      resolve()
    }
    outgoing.once('close', done)
    // An answer that stands behind another on its connection hears nothing when the connection goes.
    socket.once('close', done)
  })
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
