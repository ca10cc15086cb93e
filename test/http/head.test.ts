import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, test } from 'node:test'
import { createHeadWriter, nodeHead } from '../../src/api/http/head.ts'
import { type Headers, type HeadWriter, send } from '../../src/api/http/reply.ts'

const KEEP_ALIVE_MS = 5_000
const ownHead = createHeadWriter(KEEP_ALIVE_MS)

type Case = { readonly request: string; readonly status: number; readonly headers: Headers; readonly body: string }

const plain: Case = {
  request: 'GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n',
  status: 402,
  headers: { 'Content-Type': 'application/json', 'PAYMENT-REQUIRED': 'A'.repeat(4_000), 'X-Flow-Id': 'flow_1' },
  body: '{"ok":false}',
}

const fixed: Headers = { 'Cache-Control': 'no-store', Vary: 'Origin' }

const cases: Readonly<Record<string, Case>> = {
  'a 402 with a long header': plain,
  'letters beyond ASCII in the body': { ...plain, body: '{"name":"Münze €"}' },
  'no body at all': { ...plain, status: 204, body: '' },
  'a status that Node has no words for': { ...plain, status: 299 },
  'a HEAD request': { ...plain, request: plain.request.replace('GET', 'HEAD') },
  'a client that wants to close': {
    ...plain,
    request: plain.request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'),
  },
  'an HTTP/1.0 client': { ...plain, request: 'GET / HTTP/1.0\r\n\r\n' },
  'an HTTP/1.0 client that wants to stay': { ...plain, request: 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n' },
  'a server that wants to close': { ...plain, headers: { ...plain.headers, Connection: 'close' } },
}

/** All bytes that a client gets for two requests in a row, as many as the server answers before it closes. */
async function bytesOf({ request, status, headers, body }: Case, writeHead: HeadWriter): Promise<string> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requireHostHeader: false }, (incoming, outgoing) => {
    if (incoming.url === '/end') return void outgoing.writeHead(200, { Connection: 'close' }).end()
    try {
      send(outgoing, { status, fixed, headers, body }, writeHead, () => new AbortController().signal)
    } catch {
      outgoing.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(`${request}${request}GET /end HTTP/1.1\r\nHost: shop.test\r\n\r\n`)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk)
  server.close()
  return Buffer.concat(chunks)
    .toString('latin1')
    .replaceAll(/Date: .*\r\n/g, 'Date\r\n')
}

describe('the head of an answer', () => {
  test('is put together by ourselves on this Node', () => {
    assert.notEqual(ownHead, nodeHead)
  })

  for (const [name, sent] of Object.entries(cases))
    test(`is what Node would have written: ${name}`, async () => {
      const bytes = await bytesOf(sent, ownHead)
      assert.match(bytes, /^HTTP\/1\.[01] \d{3} /)
      assert.equal(bytes, await bytesOf(sent, nodeHead))
    })

  for (const smuggled of ['a\r\nSet-Cookie: b', 'a\nb', 'a\rb', 'a\0b', 'a\u010d\u010ab'])
    test(`never holds ${JSON.stringify(smuggled)}: nothing is sent at all`, async () => {
      const bytes = await bytesOf({ ...plain, headers: { 'X-Flow-Id': smuggled } }, ownHead)
      assert.equal(bytes, '')
    })
})
