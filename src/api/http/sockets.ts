import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { clientKey } from './client-address.ts'

// What a socket may hold before it is cut. Whoever does not read what they asked for costs the memory of all of it and gets nothing done.

/** One request and its answer. */
export type OpenExchange = {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Who is at the other end (`clientKey`). Asked when the socket was opened: of one that has closed, nobody can tell. */
  readonly peer: string
  /** Called when the connection goes: an answer that stands behind another hears nothing of it by itself. */
  onGone(): void
}

/** The requests of each socket that have no answer yet; more than one when a client does not wait for answers. */
export type Pipelines = {
  /** A socket was opened. Nothing is known of it any more when it has closed. */
  open(socket: Socket): void
  of(socket: Duplex): readonly OpenExchange[]
  /** Null, and the end of the socket, when it has too many already. */
  enter(incoming: IncomingMessage, outgoing: ServerResponse): OpenExchange | null
  leave(exchange: OpenExchange): void
  /** This socket said something that is no request. True the first time: it may go on saying it until the answer before it is through. */
  doom(socket: Duplex): boolean
}

type Line = { readonly peer: string; readonly exchanges: Set<OpenExchange>; isDoomed: boolean }

export function createPipelines(lengthMax: number): Pipelines {
  // State of open sockets and no cache: nothing here could be found out again, and an entry ends with its socket.
  const lines = new Map<Duplex, Line>()

  return {
    open(socket) {
      const exchanges = new Set<OpenExchange>()
      lines.set(socket, { peer: clientKey(socket.remoteAddress ?? ''), exchanges, isDoomed: false })
      socket.once('close', () => {
        lines.delete(socket)
        for (const exchange of exchanges) exchange.onGone()
      })
    },
    of: (socket) => [...(lines.get(socket)?.exchanges ?? [])],
    enter(incoming, outgoing) {
      const { socket } = incoming
      const line = lines.get(socket)
      // Whoever has gone is not answered.
      if (line === undefined) return null
      if (line.exchanges.size >= lengthMax) {
        socket.resetAndDestroy()
        return null
      }
      const exchange = { incoming, outgoing, peer: line.peer, onGone() {} }
      line.exchanges.add(exchange)
      return exchange
    },
    leave(exchange) {
      lines.get(exchange.incoming.socket)?.exchanges.delete(exchange)
    },
    doom(socket) {
      const line = lines.get(socket)
      if (line === undefined || line.isDoomed) return false
      line.isDoomed = true
      return true
    },
  }
}

/** Cuts sockets that take nothing of what is sent. */
export type WriteWatch = {
  /** This socket has something to send, until the returned function is called. */
  begin(socket: Socket): () => void
  stop(): void
}

/** So often is a socket looked at in the time that it may stand still. */
const LOOKS = 8

type Watched = { answers: number; taken: number; looksStill: number }

/**
 * A slow reader is no enemy: what counts is whether anything at all was taken since the last look. Sockets whose bytes the system took
 * at once, nearly all, never come here.
 */
export function createWriteWatch(stillMsMax: number): WriteWatch {
  const watched = new Map<Socket, Watched>()
  let timer: NodeJS.Timeout | null = null

  function look(): void {
    for (const [socket, state] of watched) {
      const taken = takenBy(socket)
      state.looksStill = taken === state.taken && socket.writableLength > 0 ? state.looksStill + 1 : 0
      state.taken = taken
      // With a reset: what the system holds for a reader who does not read is given up too.
      if (state.looksStill > LOOKS) socket.resetAndDestroy()
    }
  }

  function stop(): void {
    if (timer) clearInterval(timer)
    timer = null
  }

  function end(socket: Socket, state: Watched): void {
    if (--state.answers > 0) return
    watched.delete(socket)
    if (watched.size === 0) stop()
  }

  return {
    begin(socket) {
      const state = watched.get(socket) ?? { answers: 0, taken: takenBy(socket), looksStill: 0 }
      watched.set(socket, state)
      state.answers++
      timer ??= setInterval(look, stillMsMax / LOOKS).unref()
      return () => end(socket, state)
    },
    stop,
  }
}

/** What the system has taken. It moves by whole writes, which is why no large one is made (PIECE_BYTES in send.ts). */
function takenBy(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength
}

/** Lets a client have so many connections and cuts the next one. For sockets whose other end is the client and no proxy. */
export function createConnectionCap(perClientMax: number): (socket: Socket) => void {
  const open = new Map<string, number>()
  return (socket) => {
    const client = clientKey(socket.remoteAddress ?? '')
    const count = open.get(client) ?? 0
    if (count >= perClientMax) {
      socket.destroy()
      return
    }
    open.set(client, count + 1)
    socket.once('close', () => {
      const left = open.get(client)! - 1
      if (left === 0) open.delete(client)
      else open.set(client, left)
    })
  }
}
