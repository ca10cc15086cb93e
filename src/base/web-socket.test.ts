import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { openWebSocket, type SocketFrame } from './web-socket.ts'

// The other side is written by hand here, because no stock server says what an enemy would.

const BYTES_MAX = 1_000

type Far = {
  readonly url: string
  readonly socket: Promise<Socket>
  readonly closed: Promise<void>
}

function acceptOf(request: string): string {
  const key = /sec-websocket-key: (.+)\r/i.exec(request)![1]!
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}

const upgraded = (request: string, more = '') =>
  `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${acceptOf(request)}\r\n${more}\r\n`

async function startFar(t: TestContext, answer: (request: string) => string | Buffer = upgraded): Promise<Far> {
  const called = Promise.withResolvers<Socket>()
  const closed = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('close', () => closed.resolve())
    socket.once('data', (first) => {
      socket.write(answer(first.toString()))
      called.resolve(socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    void called.promise.then((socket) => socket.destroy())
  })
  const { port } = server.address() as { port: number }
  return { url: `ws://127.0.0.1:${port}`, socket: called.promise, closed: closed.promise }
}

/** As a server sends it. */
function frame(first: number, payload: string): Buffer {
  const body = Buffer.from(payload)
  const head = body.length < 126 ? [first, body.length] : [first, 126, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from(head), body])
}

function listenTo(t: TestContext, url: string) {
  const heard: SocketFrame[] = []
  const opened = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<string>()
  const next = { arrived: () => {} }
  const line = openWebSocket(url, BYTES_MAX, {
    onOpen: opened.resolve,
    onFrame(one) {
      heard.push(one)
      next.arrived()
    },
    onEnd: ended.resolve,
  })
  t.after(() => line.cut())
  const hearing = (count: number) =>
    new Promise<readonly SocketFrame[]>((resolve) => {
      next.arrived = () => heard.length >= count && resolve(heard)
      next.arrived()
    })
  return { line, heard, hearing, opened: opened.promise, ended: ended.promise }
}

test('texts are heard, whole or in parts, and signs of life between them', async (t) => {
  const far = await startFar(t)
  const { hearing } = listenTo(t, far.url)
  const bytes = [frame(0x81, 'one'), frame(0x01, 'tw'), frame(0x89, ''), frame(0x80, 'o'), frame(0x8a, '')]
  ;(await far.socket).write(Buffer.concat(bytes))
  assert.deepEqual(await hearing(4), [
    { kind: 'text', text: 'one' },
    { kind: 'ping' },
    { kind: 'text', text: 'two' },
    { kind: 'pong' },
  ])
})

test('what is said right behind the handshake is heard', async (t) => {
  const far = await startFar(t, (request) => Buffer.concat([Buffer.from(upgraded(request)), frame(0x81, 'early')]))
  assert.deepEqual(await listenTo(t, far.url).hearing(1), [{ kind: 'text', text: 'early' }])
})

/** The first bytes of a frame that says how long it will be. */
const announced = (bytes: bigint) => {
  const head = Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 0, 0, 0])
  head.writeBigUInt64BE(bytes, 2)
  return head
}

const nonsense: readonly (readonly [string, Buffer, RegExp])[] = [
  ['a message that is too large, before it has come', announced(1_001n), /Max payload size exceeded/],
  [
    'parts that are too large together',
    Buffer.concat([frame(0x01, 'x'.repeat(600)), frame(0x00, 'x'.repeat(600))]),
    /Max payload size exceeded/,
  ],
  ['something packed', frame(0xc1, 'x'), /RSV1 must be clear/],
  ['something binary', frame(0x82, 'x'), /no text/],
  ['something of no protocol', Buffer.from('HTTP/1.1 200 OK'), /Invalid WebSocket frame/],
  ['a good-bye', frame(0x88, ''), /closed/],
]

for (const [what, bytes, reason] of nonsense)
  test(`M-18: ${what} ends it, and the connection is gone`, async (t) => {
    const far = await startFar(t)
    const { ended } = listenTo(t, far.url)
    ;(await far.socket).write(bytes)
    assert.match(await ended, reason)
    await far.closed
  })

const doors: readonly (readonly [string, (request: string) => string, RegExp])[] = [
  ['a redirect', () => 'HTTP/1.1 301 Moved\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n', /301/],
  ['another answer', () => 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}', /200/],
  ['no HTTP', () => 'hello\r\n\r\n', /Parse Error/],
  ['a handshake for somebody else', (request) => upgraded(request.replace(/key: ../i, 'key: !!')), /Accept/],
]

for (const [what, answer, reason] of doors)
  test(`M-18: ${what} is no way in`, async (t) => {
    const far = await startFar(t, answer)
    const { ended, heard } = listenTo(t, far.url)
    assert.match(await ended, reason)
    await far.closed
    assert.deepEqual(heard, [])
  })

test('nobody is there', async (t) => {
  assert.match(await listenTo(t, 'ws://127.0.0.1:1').ended, /ECONNREFUSED/)
})

test('M-18: whoever asks for signs of life and does not read them is hung up on', async (t) => {
  const far = await startFar(t)
  const { ended } = listenTo(t, far.url)
  const socket = await far.socket
  socket.pause()
  const pings = Buffer.concat(Array.from({ length: 1_000 }, () => frame(0x89, 'x'.repeat(125))))
  const more = () => {
    while (!socket.destroyed && socket.write(pings));
  }
  socket.on('drain', more)
  more()
  assert.match(await ended, /does not read/)
})

test('it is cut at once, whether the other side answers or not, and nothing is heard any more', async (t) => {
  const far = await startFar(t)
  const { line, opened, ended, heard } = listenTo(t, far.url)
  await opened
  const socket = await far.socket
  line.cut()
  socket.write(frame(0x81, 'late'))
  assert.equal(await ended, 'cut')
  await far.closed
  line.send('late')
  line.ping()
  assert.deepEqual(heard, [])
})
