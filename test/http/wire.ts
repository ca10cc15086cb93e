import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { problemSchema } from '../../src/api/http/problem-body.ts'
import type { ProblemCode } from '../../src/base/problem.ts'

/** An answer as it came over the wire, before any client library made something nicer of it. */
export type RawAnswer = {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** A socket that says what a test wants said, byte for byte. */
export type Wire = {
  readonly socket: Socket
  write(bytes: string | Uint8Array): void
  /** Every answer up to the moment the server closes the connection. */
  answers(): Promise<readonly RawAnswer[]>
  /** The next answer, on a connection that stays open. */
  next(): Promise<RawAnswer>
}

export function openWire(shop: { readonly url: string }): Wire {
  const socket = connect(Number(new URL(shop.url).port), '127.0.0.1')
  let received: Buffer = Buffer.alloc(0)
  /** Came since somebody last looked. Joined only then: some tests are sent megabytes in small pieces. */
  let fresh: Buffer[] = []
  const join = () => {
    if (fresh.length > 0) received = Buffer.concat([received, ...fresh])
    fresh = []
  }
  let isClosed = false
  const changed = new EventTarget()
  const change = () => changed.dispatchEvent(new Event('change'))
  socket.on('data', (chunk) => {
    fresh.push(chunk)
    change()
  })
  // A server that closes while we still talk resets the connection; what it said before counts.
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
    change()
  })
  const waitForChange = () => new Promise((resolve) => changed.addEventListener('change', resolve, { once: true }))

  async function next(): Promise<RawAnswer> {
    for (;;) {
      join()
      const read = readAnswer(received)
      if (read) {
        received = received.subarray(read.bytes)
        return read.answer
      }
      assert.ok(!isClosed, `the connection was closed after: ${received.toString('latin1').slice(0, 200)}`)
      await waitForChange()
    }
  }

  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    next,
    async answers() {
      while (!isClosed) await waitForChange()
      join()
      const answers: RawAnswer[] = []
      while (received.length > 0) answers.push(await next())
      return answers
    },
  }
}

function readAnswer(bytes: Buffer): { readonly answer: RawAnswer; readonly bytes: number } | null {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return null
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const status = Number(first.split(' ')[1])
  const headers = new Map(
    lines.map((line): [string, string] => [
      line.split(':')[0]!.toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  )
  if (status === 100) return { answer: { status, headers, body: '' }, bytes: end + 4 }
  if (headers.get('transfer-encoding') === 'chunked') {
    const read = readChunks(bytes, end + 4)
    return read && { answer: { status, headers, body: read.body }, bytes: read.end }
  }
  const length = Number(headers.get('content-length') ?? 0)
  const total = end + 4 + length
  if (bytes.length < total) return null
  return { answer: { status, headers, body: bytes.subarray(end + 4, total).toString('utf8') }, bytes: total }
}

/** A body whose length nobody knew when it began. Null while it is not all there. */
function readChunks(bytes: Buffer, start: number): { readonly body: string; readonly end: number } | null {
  const parts: Buffer[] = []
  for (let at = start; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line === -1) return null
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16)
    const end = line + 2 + size + 2
    if (bytes.length < end) return null
    if (size === 0) return { body: Buffer.concat(parts).toString('utf8'), end }
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = end
  }
}

/** One request on a connection of its own. The server is asked to close, so that the answer is all there is. */
export async function ask(
  shop: { readonly url: string },
  head: string,
  body: string | Uint8Array = '',
): Promise<RawAnswer> {
  const wire = openWire(shop)
  wire.write(`${head}\r\nHost: ${new URL(shop.url).host}\r\nConnection: close\r\n\r\n`)
  if (body.length > 0) wire.write(body)
  const answers = await wire.answers()
  assert.equal(answers.length, 1, `one answer, not ${answers.length}`)
  return answers[0]!
}

export function postHead(path: string, length: number): string {
  return `POST ${path} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${length}`
}

/** Checks an error answer against the contract, and returns its body. */
export function assertProblem(answer: RawAnswer, status: number, code: ProblemCode) {
  assert.equal(answer.status, status, answer.body)
  assert.equal(answer.headers.get('content-type'), 'application/json')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const body = problemSchema().parse(JSON.parse(answer.body))
  assert.equal(body.code, code)
  assert.equal(body.status, status)
  return body
}

/** The same for an answer of `fetch`. */
export async function assertRefused(response: Response, status: number, code: ProblemCode) {
  const body = await response.text()
  return assertProblem({ status: response.status, headers: new Map(response.headers), body }, status, code)
}
