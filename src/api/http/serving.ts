import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../../base/log.ts'
import { Problem } from '../../base/problem.ts'
import type { Limits } from '../../config/limits.ts'
import { discardRest } from './body.ts'
import type { Reply } from './reply.ts'
import { type HttpRequest, requestOf } from './request.ts'
import { send } from './send.ts'
import type { OpenExchange, Pipelines, WriteWatch } from './sockets.ts'

/** What answers requests. The server knows nothing else of the shop. */
export type HttpApp = {
  /** Never throws and never rejects: whatever goes wrong is an answer too. */
  answer(request: HttpRequest): Reply | Promise<Reply>
  /** Is it to be answered however much is under way? */
  isVital(request: HttpRequest): boolean
  /** The answer to what never became a request, or to one that will not be looked at. */
  refusal(problem: Problem, request?: HttpRequest): Reply
}

/** Takes requests to the app and answers back, one exchange at a time. */
type Serving = {
  /** `wantBody` where the client waits for a word before it sends one. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse, wantBody?: () => void): Promise<void>
  /** Resolves when every request that was let in has its answer. */
  idle(): Promise<void>
}

type ServingOptions = {
  readonly app: HttpApp
  readonly limits: Limits
  readonly log: Log
  readonly pipelines: Pipelines
  readonly writes: WriteWatch
  readonly draining: AbortSignal
}

export function createServing({ app, limits, log, pipelines, writes, draining }: ServingOptions): Serving {
  /** Requests that are worked on: neither still arriving, nor answered and on their way out. */
  let underWay = 0
  /** Requests that a stop waits for: all that were let in, until their answer has left. */
  let open = 0
  let onIdle = () => {}

  /** A request whose sender takes their time holds no place; it gets one back when there is one. */
  async function arrived<Body>(exchange: OpenExchange, body: Promise<Body>): Promise<Body> {
    underWay--
    const whole = await body.finally(() => {
      underWay++
    })
    if (underWay > limits.requestsMax) throw overloaded(exchange)
    return whole
  }

  async function answer(exchange: OpenExchange, wantBody?: () => void): Promise<void> {
    const { incoming, peer } = exchange
    let isBodyRefused = wantBody !== undefined
    const request = requestOf(incoming, {
      peer,
      arrived: (body) => arrived(exchange, body),
      wantBody() {
        isBodyRefused = false
        wantBody?.()
      },
    })
    let reply: Reply
    underWay++
    try {
      const isTooMuch = (exchange.isExcess || underWay > limits.requestsMax) && !app.isVital(request)
      // Waited for even where it is there: only then has Node's parser seen the end of the request.
      reply = await (isTooMuch ? app.refusal(overloaded(exchange), request) : app.answer(request))
    } finally {
      underWay--
    }
    if (!incoming.complete && !isBodyRefused) await discardRest(incoming)
    const isLast = !incoming.complete || exchange.isExcess || draining.aborted
    const sent = deliver(exchange, isLast ? closing(reply) : reply, writes, draining)
    if (sent !== undefined) await sent
  }

  return {
    async handle(incoming, outgoing, wantBody) {
      const exchange = pipelines.enter(incoming, outgoing)
      if (!exchange) return
      open++
      try {
        await answer(exchange, wantBody)
      } catch (error) {
        log.error('answer could not be sent', { error })
        outgoing.destroy()
      } finally {
        pipelines.leave(exchange)
        open--
        if (open === 0) onIdle()
      }
    },
    async idle() {
      if (open === 0) return
      await new Promise<void>((resolve) => {
        onIdle = resolve
      })
    },
  }
}

/** Nothing to wait for where the system took all of it at once, as it nearly always does. */
function deliver(
  exchange: OpenExchange,
  reply: Reply,
  writes: WriteWatch,
  draining: AbortSignal,
): Promise<void> | undefined {
  const sending = send(exchange, reply, draining)
  return sending === undefined && isHandedOver(exchange.outgoing) ? undefined : watched(exchange, sending, writes)
}

async function watched(exchange: OpenExchange, sending: Promise<void> | undefined, writes: WriteWatch): Promise<void> {
  const end = writes.begin(exchange.incoming.socket)
  try {
    if (sending !== undefined) await sending
    if (!isHandedOver(exchange.outgoing)) await finished(exchange)
  } finally {
    end()
  }
}

function closing(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers, Connection: 'close' } }
}

/** What only reads pays by a header or not at all. A body was not looked at, and may hold a payment: of that nothing is claimed. */
function overloaded({ incoming: { method }, isExcess }: OpenExchange): Problem {
  const claim = method === 'GET' || method === 'HEAD' ? {} : ({ taken: 'unknown' } as const)
  const unseen = 'this one was not looked at. Send the same request again, with the same payment.'
  // A place of an address is free as soon as any of its requests is answered.
  return isExcess
    ? new Problem('overloaded', `Your address has too many requests under way; ${unseen}`, {
        ...claim,
        afterSeconds: 1,
      })
    : new Problem('overloaded', `Too many requests are under way; ${unseen}`, claim)
}

/** To the operating system. */
function isHandedOver({ writableEnded, writableLength }: ServerResponse): boolean {
  return writableEnded && writableLength === 0
}

/** When the answer has been handed over, or nobody is left to take it. */
async function finished(exchange: OpenExchange): Promise<void> {
  const { incoming, outgoing } = exchange
  if (outgoing.destroyed || incoming.socket.destroyed) return
  await new Promise<void>((resolve) => {
    outgoing.once('close', resolve)
    exchange.onGone = resolve
  })
}
