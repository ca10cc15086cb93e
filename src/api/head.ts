import { IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import { Socket } from 'node:net'
import type { Headers } from './reply.ts'

/** Writes status and headers of an answer whose length is known. */
export type HeadWriter = (outgoing: ServerResponse, status: number, headers: Headers, length: number) => void

export const nodeHead: HeadWriter = (outgoing, status, headers, length) => {
  outgoing.writeHead(status, { ...headers, 'Content-Length': length })
}

/** Where Node keeps what `writeHead` makes. It is not documented, so nothing rests on it that was not tried. */
type Headed = ServerResponse & { _header: string | null }

/**
 * Node looks at each character of a header by itself. For the header of a 402, which has thousands of them, that takes as long as all that
 * was done to know the price; so the head of an ordinary answer is put together here. Anything else is left to Node, and everything is
 * where a Node of another version would send other bytes.
 */
export function createHeadWriter({ keepAliveMs }: { readonly keepAliveMs: number }): HeadWriter {
  const kept = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n\r\n`

  const ownHead: HeadWriter = (outgoing, status, headers, length) => {
    const lines = isOrdinary(outgoing, headers) ? linesOf(headers) : null
    if (lines === null) return nodeHead(outgoing, status, headers, length)
    outgoing.statusCode = status
    ;(outgoing as Headed)._header =
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n${lines}Content-Length: ${length}\r\nDate: ${httpDate()}\r\n${kept}`
  }

  return bytesWith(ownHead, keepAliveMs) === bytesWith(nodeHead, keepAliveMs) ? ownHead : nodeHead
}

/** Goes over a connection that stays open. */
function isOrdinary({ shouldKeepAlive, req }: ServerResponse, headers: Headers): boolean {
  return shouldKeepAlive && req.method !== 'HEAD' && !('Connection' in headers)
}

/** Null when a value could be taken for more than one line. */
function linesOf(headers: Headers): string | null {
  let lines = ''
  for (const name in headers) {
    const value = headers[name]!
    if (value.includes('\n') || value.includes('\r') || value.includes('\0')) return null
    lines += `${name}: ${value}\r\n`
  }
  return lines
}

let dateSecond = 0
let dateText = ''

function httpDate(): string {
  const second = Math.floor(Date.now() / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(second * 1000).toUTCString()
  }
  return dateText
}

/** What a client would get of a small answer; its date aside, which may be another one a moment later. */
function bytesWith(writeHead: HeadWriter, keepAliveMs: number): string {
  const socket = new Socket()
  const sent: string[] = []
  socket.write = (chunk: string | Uint8Array) => {
    sent.push(Buffer.from(chunk as string).toString('latin1'))
    return true
  }
  const outgoing = new ServerResponse(new IncomingMessage(socket))
  Object.assign(outgoing, { _keepAliveTimeout: keepAliveMs })
  outgoing.shouldKeepAlive = true
  outgoing.assignSocket(socket)
  writeHead(outgoing, 402, { 'Content-Type': 'application/json', 'X-Flow-Id': 'flow' }, 2)
  outgoing.end('{}', 'latin1')
  socket.destroy()
  return sent.join('').replace(/Date: .*\r\n/, '')
}
