import http from 'node:http'
import https from 'node:https'

// Whatever we ask of other people's servers goes through here. They may be slow, endless, hacked or somebody else's by now.

export type OutgoingRequest = {
  readonly url: string
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** For the whole of it: a look-up, a connection, the question and the last byte of the answer. */
  readonly timeoutMs: number
  /** What the answer's body may hold. */
  readonly bytesMax: number
  /** To ask it twice changes nothing. It is asked once more when a connection that was kept turns out to be closed: servers close what is idle without a word. */
  readonly mayRepeat?: boolean
}

export type OutgoingAnswer = {
  readonly status: number
  /** By lower-case name, as Node joins them. */
  readonly headers: Readonly<http.IncomingHttpHeaders>
  readonly text: string
}

/** How others are asked. Whoever is built with one can be asked, in a test, without a network. */
export type Exchange = (request: OutgoingRequest) => Promise<OutgoingAnswer>

/** No usable answer. */
export class OutgoingFailure extends Error {
  /** Proof that nobody received the request: there was no connection. */
  readonly neverSent: boolean
  /** What the system called it, if it was the system. */
  readonly code: string
  constructor(cause: Error, neverSent: boolean) {
    super(cause.message, { cause })
    this.name = 'OutgoingFailure'
    this.neverSent = neverSent
    this.code = (cause as NodeJS.ErrnoException).code ?? ''
  }
}

const KEPT = { keepAlive: true, maxSockets: 64, maxFreeSockets: 16 }
const clients = {
  'http:': { request: http.request, agent: new http.Agent(KEPT) },
  'https:': { request: https.request, agent: new https.Agent(KEPT) },
}

/**
 * One question and one answer, and never sent elsewhere: a redirect is a failure, because what we send is meant for whoever was
 * configured, and so are our keys. Nothing is unpacked: nobody was asked to compress, and a few bytes may unpack to gigabytes.
 */
export const systemExchange: Exchange = (asked) =>
  new Promise((resolve, reject) => {
    const { timeoutMs, mayRepeat = false } = asked
    let isConnected = false
    let isOver = false
    let outgoing = send(clientOf(asked).agent)
    const timer = setTimeout(() => fail(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)

    function fail(cause: Error): void {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      reject(new OutgoingFailure(cause, !isConnected))
      outgoing.destroy()
    }

    function send(agent: http.Agent | false): http.ClientRequest {
      const request = requestOf(asked, agent)
      let hasAnswer = false
      const isStale = () => mayRepeat && !isOver && !hasAnswer && agent !== false && request.reusedSocket
      const failed = (cause: Error) => {
        if (request !== outgoing) return
        if (isStale()) outgoing = send(false)
        else fail(cause)
      }
      request.on('socket', (socket) => {
        // Whoever heard it on a kept connection has heard it, whether there is another connection or not.
        isConnected ||= !socket.connecting
        if (socket.connecting)
          socket.once('connect', () => {
            isConnected = true
          })
      })
      request.on('response', (response) => {
        hasAnswer = true
        read(response)
      })
      request.on('error', failed)
      // A connection that is to become something else is closed by Node without a word.
      request.on('close', () => failed(new Error('the connection was closed')))
      return request.end(asked.body ?? '')
    }

    function read(response: http.IncomingMessage): void {
      const refusal = refusalOf(response)
      if (refusal) {
        fail(refusal)
        return
      }
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > asked.bytesMax) fail(new Error(`the answer is larger than ${asked.bytesMax} bytes`))
        else chunks.push(chunk)
      })
      response.on('end', () => {
        isOver = true
        clearTimeout(timer)
        const { statusCode = 0, headers } = response
        resolve({ status: statusCode, headers, text: Buffer.concat(chunks).toString('utf8') })
      })
      response.on('error', fail)
    }
  })

const clientOf = ({ url }: OutgoingRequest) => clients[new URL(url).protocol as keyof typeof clients]

function requestOf(asked: OutgoingRequest, agent: http.Agent | false): http.ClientRequest {
  const { url, method, body = '', headers } = asked
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return clientOf(asked).request(new URL(url), {
    method,
    agent,
    headers: { 'accept-encoding': 'identity', ...headers, ...length },
  })
}

function refusalOf({ statusCode = 0, headers }: http.IncomingMessage): Error | null {
  if (statusCode >= 300 && statusCode < 400) return new Error(`status ${statusCode}: redirects are not followed`)
  const encoding = headers['content-encoding'] ?? 'identity'
  return encoding === 'identity'
    ? null
    : new Error(`the answer is packed (${encoding.slice(0, 40)}), and was not asked to be`)
}
