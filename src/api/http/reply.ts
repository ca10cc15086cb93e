import { STATUS_CODES } from 'node:http'
import type { Host } from '../../domain/route.ts'
import type { HttpRequest } from './request.ts'

export type Headers = Readonly<Record<string, string>>

/** Names and values in turn: the form that Node takes headers in with the least ado. */
export type HeaderList = readonly string[]

/** What goes back. A stream is for answers that have no end yet, such as an operator's event feed. */
export type Reply = {
  readonly status: number
  /** Headers that do not depend on the request: laid out once, when the route is compiled. They come first. */
  readonly fixed?: HeaderList
  /** The others; none of them is among the fixed ones. */
  readonly headers: Headers
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array> | null
}

/** Replies one path. `params` are what stands in the path's placeholders. */
export type Handler = (request: HttpRequest, params: Readonly<Record<string, string>>) => Reply | Promise<Reply>

/** Replies one route of a path that several may share; `host` is which of ours was asked. */
export type RouteHandler = (request: HttpRequest, params: object, host: Host) => Reply | Promise<Reply>

/** By method. */
export type MethodHandlers = ReadonlyMap<string, RouteHandler>

export function headerList(headers: Headers): string[] {
  const list: string[] = []
  for (const name in headers) list.push(name, headers[name]!)
  return list
}

/** All headers of an answer, in the order they go out. */
export function allHeaders({ fixed = [], headers }: Pick<Reply, 'fixed' | 'headers'>): string[] {
  const list = [...fixed]
  for (const name in headers) list.push(name, headers[name]!)
  return list
}

/** The bytes of an answer to something that never became a request, for a socket that is closed behind it. */
export function rawReply(reply: Reply): string {
  const { status, body } = reply
  const text = typeof body === 'string' ? body : ''
  const list = [...allHeaders(reply), 'Content-Length', String(Buffer.byteLength(text)), 'Connection', 'close']
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
  for (let i = 0; i < list.length; i += 2) head += `${list[i]}: ${list[i + 1]}\r\n`
  return `${head}\r\n${text}`
}
