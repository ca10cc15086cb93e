import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, test } from 'node:test'
import { type Headers, headerList, type Reply } from '../../src/api/http/reply.ts'
import { PIECE_BYTES, send } from '../../src/api/http/send.ts'

const fixed = headerList({ 'Cache-Control': 'no-store', Vary: 'Origin' })
const headers: Headers = { 'Content-Type': 'application/json', 'X-Flow-Id': 'flow_1' }
const GET = 'GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n'
const END = 'GET /end HTTP/1.1\r\nHost: shop.test\r\n\r\n'

/** All bytes that a client gets for what it says, up to the moment the server closes. */
async function bytesOf(reply: Reply, request: string): Promise<Buffer> {
  const stopping = new AbortController()
  const server = createServer(async (incoming, outgoing) => {
    if (incoming.url === '/end') return void outgoing.writeHead(200, { Connection: 'close' }).end()
    try {
      await send({ incoming, outgoing, peer: 'unknown', isExcess: false, onGone() {} }, reply, stopping.signal)
    } catch {
      outgoing.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(request)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk)
  server.close()
  return Buffer.concat(chunks)
}

const headOf = (length: number) =>
  `HTTP/1.1 402 Payment Required\r\nCache-Control: no-store\r\nVary: Origin\r\nContent-Type: application/json\r\nX-Flow-Id: flow_1\r\nContent-Length: ${length}\r\nDate\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n`

const withoutDates = (bytes: Buffer) => bytes.toString('utf8').replaceAll(/Date: .*\r\n/g, 'Date\r\n')

describe('an answer', () => {
  for (const [what, body] of [
    ['a short text', '{"ok":false}'],
    ['letters beyond ASCII', '{"name":"Münze €"}'],
    ['a text of one piece', 'x'.repeat(PIECE_BYTES)],
    ['a text of several pieces, with a letter across each cut', '€'.repeat(PIECE_BYTES)],
    ['bytes of just two pieces', Buffer.alloc(2 * PIECE_BYTES, 'x')],
    ['bytes that fill no buffer evenly', Buffer.alloc(20 * PIECE_BYTES + 1, 'x')],
  ] as const)
    test(`has its headers in their order and the whole body, twice on one connection: ${what}`, async () => {
      const bytes = await bytesOf({ status: 402, fixed, headers, body }, GET + GET + END)
      const one = headOf(Buffer.byteLength(body)) + body.toString()
      const [first, second] = [withoutDates(bytes).slice(0, one.length), withoutDates(bytes).slice(one.length)]
      assert.ok(first === one && second.startsWith(one), first.slice(0, 400))
    })

  test('to HEAD has the length of what it leaves out', async () => {
    const reply = { status: 402, fixed, headers, body: 'x'.repeat(3 * PIECE_BYTES) }
    const bytes = await bytesOf(reply, GET.replace('GET', 'HEAD') + END)
    assert.ok(withoutDates(bytes).startsWith(`${headOf(3 * PIECE_BYTES)}HTTP/1.1 200 OK`))
  })

  for (const smuggled of ['a\r\nSet-Cookie: b', 'a\nb', 'a\rb', 'a\0b', 'a\u010d\u010ab'])
    test(`never holds ${JSON.stringify(smuggled)}: nothing is sent at all`, async () => {
      const reply = { status: 402, fixed, headers: { 'X-Flow-Id': smuggled }, body: '{}' }
      assert.equal((await bytesOf(reply, GET)).length, 0)
    })
})
