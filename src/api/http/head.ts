import { IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import { Socket } from 'node:net'
import { systemClock } from '../../base/clock.ts'
import { allHeaders, type Headers, type HeadWriter } from './reply.ts'

export const nodeHead: HeadWriter = (outgoing, reply, length) => {
  outgoing.writeHead(reply.status, { ...allHeaders(reply), 'Content-Length': length })
}

/** Where Node keeps what `writeHead` makes. It is not documented, so nothing rests on it that was not tried. */
type Headed = ServerResponse & { _header: string | null }

/**
 * Node looks at each character of a header by itself. For the header of a 402, which has thousands of them, that takes as long as all that
 * was done to know the price; so the head of an ordinary answer is put together here. Anything else is left to Node, and everything is
 * where a Node of another version would send other bytes.
 */
export function createHeadWriter(keepAliveMs: number): HeadWriter {
  const kept = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n\r\n`
  const linesOfFixed = new WeakMap<Headers, string | null>()
  let date = { second: 0, text: '' }

  function fixedLines(fixed: Headers | undefined): string | null {
    if (fixed === undefined) return ''
    let lines = linesOfFixed.get(fixed)
    if (lines === undefined) {
      lines = asLines(fixed)
      linesOfFixed.set(fixed, lines)
    }
    return lines
  }

  function dateText(): string {
    const second = Math.floor(systemClock.now() / 1000)
    if (second !== date.second) date = { second, text: new Date(second * 1000).toUTCString() }
    return date.text
  }

  const ownHead: HeadWriter = (outgoing, reply, length) => {
    const { status, fixed, headers } = reply
    const isOrdinary = outgoing.shouldKeepAlive && outgoing.req.method !== 'HEAD' && !('Connection' in headers)
    const above = isOrdinary ? fixedLines(fixed) : null
    const lines = above === null ? null : asLines(headers)
    if (lines === null) return nodeHead(outgoing, reply, length)
    const first = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
    outgoing.statusCode = status
    ;(outgoing as Headed)._header =
      `${first}${above}${lines}Content-Length: ${length}\r\nDate: ${dateText()}\r\n${kept}`
  }

  return bytesWith(ownHead, keepAliveMs) === bytesWith(nodeHead, keepAliveMs) ? ownHead : nodeHead
}

/** Null when a value could be taken for more than one line, or is not plain ASCII, which may come to that on its way out. */
function asLines(headers: Headers): string | null {
  let lines = ''
  for (const name in headers) {
    const value = headers[name]!
    if (value.includes('\n') || value.includes('\r') || value.includes('\0')) return null
    lines += `${name}: ${value}\r\n`
  }
  return Buffer.byteLength(lines) === lines.length ? lines : null
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
  writeHead(
    outgoing,
    { status: 402, fixed: { 'Content-Type': 'application/json' }, headers: { 'X-Flow-Id': 'flow' } },
    2,
  )
  outgoing.end('{}', 'latin1')
  socket.destroy()
  return sent.join('').replace(/Date: .*\r\n/, '')
}
