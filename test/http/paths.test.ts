import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { ask, openWire, type RawAnswer } from './wire.ts'

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

/** Spellings under which gates and routers have disagreed elsewhere (GHSA-3j63-5h8p-gf7c; x402#318, #967, #3044), and then some. */
function aliasesOf(path: string): readonly string[] {
  const segments = path.split('/').slice(1)
  const last = segments.at(-1)!
  const encoded = (text: string) => [...text].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('')
  const perSlash = segments.flatMap((_, index) => {
    const join = (separator: string) =>
      `/${segments.slice(0, index).join('/')}${index === 0 ? '' : separator}${segments.slice(index).join('/')}`
    return index === 0
      ? []
      : ['//', '/./', '/%2e/', '%2F', '%2f', '%5c', '\\', '/;/', '/x/../', '/x/%2e%2e/', '%252F'].map(join)
  })
  const perLetter = [...path].flatMap((char, index) =>
    /[a-z]/.test(char)
      ? [
          `${path.slice(0, index)}%${char.charCodeAt(0).toString(16)}${path.slice(index + 1)}`,
          `${path.slice(0, index)}%25${char.charCodeAt(0).toString(16)}${path.slice(index + 1)}`,
          `${path.slice(0, index)}${char.toUpperCase()}${path.slice(index + 1)}`,
        ]
      : [],
  )
  const endings = [
    '/',
    '//',
    '/.',
    '/..',
    '/%2e',
    ';',
    ';a=b',
    '%00',
    '%20',
    '%09',
    '%',
    '%2',
    '%zz',
    '%c0%af',
    '.json',
    '%3f',
    '%23',
    '\\',
    '/x',
    '*',
    '%u002f',
    '&',
    ',',
    '+',
  ]
  return [
    ...perSlash,
    ...perLetter,
    ...endings.map((ending) => path + ending),
    `/${path}`,
    `/.${path}`,
    `/%2e${path}`,
    `\\${path.slice(1)}`,
    path.toUpperCase(),
    `/${segments.slice(0, -1).join('/')}/${encoded(last)}`,
    `/x/..${path}`,
    `/%2e%2e${path}`,
  ]
}

/** Many requests on one connection; a server that closes it gets a new one. */
async function each(requests: readonly string[], seen: (index: number, answer: RawAnswer) => void): Promise<void> {
  let wire = openWire(shop)
  for (const [index, request] of requests.entries()) {
    wire.write(request)
    const answer = await wire.next()
    seen(index, answer)
    if (answer.headers.get('connection') === 'close') wire = openWire(shop)
  }
  wire.socket.destroy()
}

test('H-05: no other spelling of a paid path reaches its handler', async () => {
  const paths = [...new Set(shop.service.routes.filter(({ kind }) => kind === 'paid').map(({ path }) => path))]
  let tried = 0
  for (const path of paths) {
    const aliases = aliasesOf(path)
    assert.ok(aliases.length >= 70, `${aliases.length} aliases of ${path}`)
    tried += aliases.length
    const requests = aliases.flatMap((alias) =>
      ['GET', 'POST'].map((method) => `${method} ${alias} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n`),
    )
    await each(requests, (index, { status, body }) => {
      const code = (JSON.parse(body) as { code: string }).code
      assert.ok(
        (status === 404 && (code === 'route_not_found' || code === 'payment_not_found')) ||
          (status === 400 && code === 'invalid_request'),
        `${requests[index]!.split('\r\n')[0]} was answered ${status} ${code}`,
      )
    })
  }
  assert.ok(tried > 800)
})

test('an absolute target is the same path, and its query is no part of it', async () => {
  const { host } = new URL(shop.url)
  for (const target of [`http://${host}/agentic/x402/buy`, '/agentic/x402/buy?x=/../y', '/agentic/x402/buy?'])
    assert.equal((await ask(shop, `GET ${target} HTTP/1.1`)).status, 402)
  assert.equal((await ask(shop, 'GET ftp://x/agentic/x402/buy HTTP/1.1')).status, 404)
})

test('H-05: methods that a path does not have are refused with the ones it has, and HEAD never looks behind a price', async () => {
  verifies('D2.6')
  const paths = Map.groupBy(shop.service.routes, ({ path }) => path)
  for (const [path, routes] of paths) {
    const asked = path.replace(/\{\w+\}/g, 'nothing')
    const isSold = routes.some(({ kind }) => kind === 'paid')
    const allowed = new Set(
      routes.flatMap((route) => [
        route.method,
        ...(route.kind === 'paid' && route.hasPriceProbe ? ['GET'] : []),
        ...(route.kind === 'free' && route.method === 'GET' ? ['HEAD'] : []),
      ]),
    )
    for (const method of ['HEAD', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'TRACE']) {
      // Node hangs up on whoever asks for TRACE with a body; there is none here.
      const { status, headers } = await head(method, asked)
      if (allowed.has(method)) {
        assert.ok(!isSold && [200, 400, 404].includes(status), `${method} ${path} ${status}`)
        continue
      }
      assert.equal(status, 405, `${method} ${path}`)
      assert.deepEqual(new Set(headers.get('allow')!.split(', ')), new Set([...allowed, 'OPTIONS']))
    }
  }
})

/** The answer to HEAD has a length and no body, so only its head is read. */
async function head(method: string, path: string): Promise<{ status: number; headers: Map<string, string> }> {
  const response = await new Promise<string>((resolve, reject) => {
    const { socket } = openWire(shop)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`)
  })
  const [first = '', ...lines] = response.split('\r\n\r\n')[0]!.split('\r\n')
  return {
    status: Number(first.split(' ')[1]),
    headers: new Map(
      lines.map((line) => [line.split(':')[0]!.toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    ),
  }
}

test('H-13: OPTIONS is answered 204 on every path, known or not, with what browsers may send and read', async () => {
  const paths = [
    ...new Set(shop.service.routes.map(({ path }) => path.replace(/\{\w+\}/g, 'nothing'))),
    '/nowhere',
    '/mcp',
    '*',
  ]
  for (const path of paths) {
    const { status, headers } = await ask(
      shop,
      `OPTIONS ${path} HTTP/1.1\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: payment-signature`,
    )
    assert.equal(status, 204, path)
    const allowed = headers.get('access-control-allow-headers')!.split(', ')
    for (const name of [
      'content-type',
      'authorization',
      'accept-payment',
      'payment-signature',
      'x-payment',
      'idempotency-key',
      'access-control-expose-headers',
      'mcp-protocol-version',
      'mcp-session-id',
    ])
      assert.ok(allowed.includes(name), `${path} ${name}`)
    if (path === '/mcp') continue
    assert.equal(headers.get('access-control-allow-origin'), '*')
    assert.equal(headers.get('access-control-allow-credentials'), undefined)
    const exposed = headers.get('access-control-expose-headers')!.split(', ')
    for (const name of [
      'PAYMENT-REQUIRED',
      'PAYMENT-RESPONSE',
      'WWW-Authenticate',
      'Payment-Receipt',
      'Retry-After',
      'RateLimit',
      'RateLimit-Policy',
      'Location',
    ])
      assert.ok(exposed.includes(name), `${path} ${name}`)
  }
})
