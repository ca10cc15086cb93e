import { WebSocket } from 'ws'

/** Something that came: a whole text, or a sign of life. */
export type SocketFrame = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'ping' | 'pong' }

type SocketEvents = {
  onOpen(): void
  onFrame(frame: SocketFrame): void
  /** Comes once, whatever happened; nothing comes after it. */
  onEnd(reason: string): void
}

type WebSocketLine = {
  /** Both do nothing unless it is open. */
  send(text: string): void
  ping(): void
  /** At once: nobody is waited for. */
  cut(): void
}

/** How a line is opened. Whoever is built with one can listen, in a test, without a network. */
export type OpenLine = (events: SocketEvents) => WebSocketLine

/** What may wait to be sent; whoever does not read it is not there. */
const UNSENT_BYTES_MAX = 64 * 1024

/**
 * A line to `ws:` or `wss:`, on which a message has at most so many bytes. Nothing is unpacked and no redirect is followed. How long it may
 * take is for the caller to say, who cuts it.
 *
 * Node's own `WebSocket` takes messages of 128 MiB, sends no pings, and cannot be closed while the other side does not answer.
 */
export function openWebSocket(url: string, bytesMax: number, events: SocketEvents): WebSocketLine {
  const socket = new WebSocket(url, { maxPayload: bytesMax, perMessageDeflate: false, followRedirects: false })
  let isOver = false

  function end(reason: string): void {
    if (isOver) return
    isOver = true
    socket.terminate()
    events.onEnd(reason)
  }

  /** Whoever makes us answer and does not read it fills our memory. */
  function hear(frame: SocketFrame): void {
    if (isOver) return
    if (socket.bufferedAmount > UNSENT_BYTES_MAX) end('it does not read what it is sent')
    else events.onFrame(frame)
  }

  const whenOpen = (act: () => void) => {
    if (!isOver && socket.readyState === WebSocket.OPEN) act()
  }

  socket.on('open', () => whenOpen(events.onOpen))
  socket.on('message', (data, isBinary) => {
    if (isBinary) end('what it sends is no text')
    else hear({ kind: 'text', text: data.toString() })
  })
  socket.on('ping', () => hear({ kind: 'ping' }))
  socket.on('pong', () => hear({ kind: 'pong' }))
  socket.on('error', ({ message }) => end(message))
  socket.on('close', () => end('the connection was closed'))
  return {
    send: (text) => whenOpen(() => socket.send(text)),
    ping: () => whenOpen(() => socket.ping()),
    cut: () => end('cut'),
  }
}
