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
  /** The address has as many connections at work as it may: this request is not looked at, and its answer is the last on its connection. */
  readonly isExcess: boolean
  /** Called when the connection goes: an answer that stands behind another hears nothing of it by itself. */
  onGone(): void
}

/** The requests of each socket that have no answer yet; more than one when a client does not wait for answers. */
export type Pipelines = {
  /** A socket was opened; one too many is cut. Nothing is known of it any more when it has closed. */
  open(socket: Socket): void
  of(socket: Duplex): readonly OpenExchange[]
  /** Null, and the end of the socket, when it has too many already. */
  enter(incoming: IncomingMessage, outgoing: ServerResponse): OpenExchange | null
  leave(exchange: OpenExchange): void
  /** This socket said something that is no request. True the first time: it may go on saying it until the answer before it is through. */
  doom(socket: Duplex): boolean
}

type Line = { readonly peer: Peer; readonly exchanges: Set<OpenExchange>; isExcess: boolean; isDoomed: boolean }

/** One address. Only a connection with a request holds a place: clients leave idle ones behind, and some open one that they never use. */
type Peer = { readonly key: string; open: number; readonly atWork: Set<Line> }

type PipelineOptions = {
  readonly lengthMax: number
  /** Connections of one address that have a request at the same time. */
  readonly atWorkMax: number
  /** `connections`: one more was refused, in words. `sockets`: one was cut. */
  readonly onTurnedAway: (what: 'connections' | 'sockets') => void
}

/** So many connections are open for each that may be at work. The others are idle, or have yet to send the request that is refused. */
const OPEN_PER_WORKING = 4

export function createPipelines({ lengthMax, atWorkMax, onTurnedAway }: PipelineOptions): Pipelines {
  // State of open sockets and no cache: nothing here could be found out again, and an entry ends with its socket.
  const lines = new Map<Duplex, Line>()
  const peers = new Map<string, Peer>()

  function takePlace(line: Line): void {
    const { atWork } = line.peer
    if (line.isExcess || atWork.has(line)) return
    line.isExcess = atWork.size >= atWorkMax
    if (line.isExcess) onTurnedAway('connections')
    else atWork.add(line)
  }

  return {
    open(socket) {
      const key = clientKey(socket.remoteAddress ?? '')
      const peer = peers.get(key) ?? { key, open: 0, atWork: new Set() }
      if (peer.open >= atWorkMax * OPEN_PER_WORKING) {
        onTurnedAway('sockets')
        socket.destroy()
        return
      }
      peers.set(key, peer)
      peer.open++
      const line = { peer, exchanges: new Set<OpenExchange>(), isExcess: false, isDoomed: false }
      lines.set(socket, line)
      socket.once('close', () => {
        lines.delete(socket)
        peer.atWork.delete(line)
        if (--peer.open === 0) peers.delete(key)
        for (const exchange of line.exchanges) exchange.onGone()
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
      takePlace(line)
      const exchange = { incoming, outgoing, peer: line.peer.key, isExcess: line.isExcess, onGone() {} }
      line.exchanges.add(exchange)
      return exchange
    },
    leave(exchange) {
      const line = lines.get(exchange.incoming.socket)
      if (line === undefined) return
      line.exchanges.delete(exchange)
      if (line.exchanges.size === 0) line.peer.atWork.delete(line)
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
