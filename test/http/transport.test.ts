import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { ask, assertProblem, assertRefused, openWire, postHead } from './wire.ts'

let shop: TestShop
before(async () => {
  shop = await startShop({
    configure: (config) => ({ ...config, limits: { ...config.limits, headersMsMax: 1_000, requestMsMax: 1_500 } }),
  })
})
after(() => shop.stop())

const BUY = '/agentic/x402/buy'
const lot = { saleId: 391, beneficiary: '0x000000000000000000000000000000000000dEaD' }
const orders = async () =>
  Number((await shop.store.db.query<{ n: string }>('select count(*) as n from orders')).rows[0]!.n)

describe('bodies', () => {
  const padded = (bytes: number) =>
    JSON.stringify({ ...lot, pad: 'x'.repeat(bytes - JSON.stringify({ ...lot, pad: '' }).length) })

  test('N-02: 32 KiB are read, one byte more is refused before anything is parsed', async () => {
    verifies('D9.1')
    await assertRefused(await fetch(shop.url + BUY, post(padded(32 * 1024))), 400, 'unknown_property')
    const { payment } = await assertRefused(
      await fetch(shop.url + BUY, post(padded(32 * 1024 + 1))),
      413,
      'body_too_large',
    )
    assert.equal(payment.taken, false)
  })

  test('N-02: a chunked body is counted as it comes, and its connection serves on', async () => {
    const wire = openWire(shop)
    const chunk = 'x'.repeat(8 * 1024)
    wire.write(
      `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    for (let i = 0; i < 5; i++) wire.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    wire.write('0\r\n\r\n')
    assertProblem(await wire.next(), 413, 'body_too_large')
    wire.write(`GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
    assert.equal((await wire.next()).status, 200)
    wire.socket.destroy()
  })

  test('N-02: a stream without end is cut off', async () => {
    const wire = openWire(shop)
    wire.write(
      `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    const chunk = Buffer.alloc(64 * 1024, 'x')
    const flood = Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')])
    let isOpen = true
    wire.socket.on('close', () => {
      isOpen = false
    })
    let sent = 0
    while (isOpen && sent < 1 << 30) {
      sent += flood.length
      if (!wire.socket.write(flood) && isOpen)
        await new Promise<void>((resolve) => {
          wire.socket.once('drain', resolve)
          wire.socket.once('close', () => resolve())
        })
    }
    assert.ok(sent < 64 << 20, `${sent >> 20} MiB were taken`)
  })

  test('N-02: a length that lies in either direction buys nothing', async () => {
    const body = JSON.stringify(lot)
    const short = await ask(shop, postHead(BUY, body.length - 5), body)
    assertProblem(short, 400, 'invalid_json')
    const wire = openWire(shop)
    wire.write(`${postHead(BUY, body.length + 5)}\r\nHost: 127.0.0.1\r\n\r\n${body}`)
    assertProblem((await wire.answers())[0]!, 408, 'request_timeout')
    const huge = openWire(shop)
    huge.write(`${postHead(BUY, 99_999_999)}\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n\r\n`)
    assertProblem((await huge.answers())[0]!, 413, 'body_too_large')
  })

  test('H-13: a client that waits for 100-continue is told to go on only when its body is wanted', async () => {
    const body = JSON.stringify(lot)
    const wire = openWire(shop)
    wire.write(`${postHead(BUY, body.length)}\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n\r\n`)
    assert.equal((await wire.next()).status, 100)
    wire.write(body)
    assert.equal((await wire.next()).status, 402)
    wire.write(`${postHead('/nowhere', body.length)}\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n\r\n`)
    assertProblem((await wire.answers())[0]!, 404, 'route_not_found')
  })

  test('N-02: compressed requests are refused, and never inflated', async () => {
    const bomb = gzipSync(Buffer.alloc(10 << 20))
    for (const encoding of ['gzip', 'deflate', 'br', 'identity']) {
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
      await assertRefused(
        await fetch(shop.url + BUY, { method: 'POST', headers, body: bomb.subarray(0, 12_000) }),
        415,
        'unsupported_media_type',
      )
    }
  })

  test('N-06: a body must say that it is JSON; a price question needs no type', async () => {
    const body = JSON.stringify(lot)
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'application/jsonp',
      'text/json',
    ])
      await assertRefused(
        await fetch(shop.url + BUY, { method: 'POST', headers: { 'content-type': type }, body }),
        415,
        'unsupported_media_type',
      )
    assertProblem(
      await ask(shop, `POST ${BUY} HTTP/1.1\r\nContent-Length: ${body.length}`, body),
      415,
      'unsupported_media_type',
    )
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])
      assert.equal(
        (await fetch(shop.url + BUY, { method: 'POST', headers: { 'content-type': type }, body })).status,
        402,
      )
    assert.equal((await ask(shop, `POST ${BUY} HTTP/1.1\r\nContent-Length: 0`)).status, 402)
  })

  test('an answer in a form that the caller excludes is refused with 406', async () => {
    verifies('D16.3')
    for (const accept of ['text/html', 'image/png, text/plain', 'application/json;q=0'])
      await assertRefused(await fetch(shop.url + BUY, post(lot, { accept })), 406, 'not_acceptable')
    for (const accept of [
      '*/*',
      'application/json',
      'text/html, application/*;q=0.1',
      'text/event-stream, application/json',
    ])
      assert.equal((await fetch(shop.url + BUY, post(lot, { accept }))).status, 402)
  })
})

describe('headers', () => {
  test('N-02: a credential of 8 KiB fits; 17 KiB of headers are refused in our words', async () => {
    verifies('D9.1')
    for (const [size, status, code] of [
      [4 * 1024, 402, 'malformed_credential'],
      [8 * 1024, 402, 'malformed_credential'],
    ] as const) {
      const response = await fetch(
        `${shop.url}/agentic/mpp/buy`,
        post(lot, { authorization: `Payment ${'A'.repeat(size)}` }),
      )
      assert.equal(response.status, status)
      assert.equal(((await response.json()) as { code: string }).code, code)
    }
    const large = await ask(shop, `GET /health/live HTTP/1.1\r\nX-Large: ${'x'.repeat(17 * 1024)}`)
    const body = assertProblem(large, 431, 'header_too_large')
    assert.equal(body.payment.taken, 'unknown')
  })

  test('H-06: nothing redirects', async () => {
    for (const path of ['/catalog/', '/CATALOG', '//catalog', '/errors/', '/agentic/x402/buy/', '/docs/'])
      assert.ok((await fetch(shop.url + path, { redirect: 'manual' })).status >= 400)
  })
})

describe('slow and broken senders', () => {
  test('H-01: headers and bodies that do not arrive are cut off with 408, while others are served', async () => {
    verifies('D9.6')
    const wires = Array.from({ length: 200 }, (_, index) => {
      const wire = openWire(shop)
      wire.write(
        index % 2
          ? `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: `
          : `${postHead(BUY, 100)}\r\nHost: 127.0.0.1\r\n\r\n{`,
      )
      return wire
    })
    const healthy = await fetch(`${shop.url}/health/live`)
    assert.equal(healthy.status, 200)
    for (const answers of await Promise.all(wires.map((wire) => wire.answers()))) {
      assert.equal(answers.length, 1)
      assertProblem(answers[0]!, 408, 'request_timeout')
    }
  })

  const smuggled = `GET /x402/cheap-health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`
  const corpus: Readonly<Record<string, string>> = {
    'length and chunks at once': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    'two lengths': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    'a list of lengths': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0, 0\r\n\r\n${smuggled}`,
    'a negative length': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n${smuggled}`,
    'a signed length': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: +0\r\n\r\n${smuggled}`,
    'an unknown transfer coding': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
    'chunked that is not last': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
    'a space before the colon': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    'a folded header': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b\r\n c\r\nContent-Length: 0\r\n\r\n${smuggled}`,
    'bare line feeds': `POST ${BUY} HTTP/1.1\nHost: 127.0.0.1\nContent-Length: 0\n\n${smuggled}`,
    'a null in a header': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b\0c\r\n\r\n`,
    'a bad chunk size': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`,
    'a chunk that runs over': `POST ${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}}\r\n0\r\n\r\n`,
    'no method at all': `${BUY} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
    'HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'TLS on the plain port': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    garbage: '\x00\x01\x02\x03\r\n\r\n',
  }
  for (const [what, bytes] of Object.entries(corpus)) {
    test(`N-04: ${what}: refused once, and the connection is closed`, async () => {
      const wire = openWire(shop)
      wire.write(Buffer.from(bytes, 'latin1'))
      const answers = await wire.answers()
      assert.equal(answers.length, 1)
      assertProblem(answers[0]!, 400, 'invalid_request')
    })
  }

  test('N-04: pipelined requests are answered one by one, in order', async () => {
    const wire = openWire(shop)
    const body = JSON.stringify(lot)
    wire.write(
      `GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n${postHead(BUY, body.length)}\r\nHost: 127.0.0.1\r\n\r\n${body}GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
    )
    assert.deepEqual(
      (await wire.answers()).map(({ status }) => status),
      [200, 402, 404],
    )
  })

  test('nothing of all this opened an order', async () => {
    assert.equal(await orders(), 0)
  })
})
