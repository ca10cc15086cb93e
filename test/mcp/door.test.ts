import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { createLog, type Log } from '../../src/base/log.ts'
import type { Config } from '../../src/config/config.ts'
import { fundedWallet } from '../support/buyers.ts'
import { withoutClaim } from '../support/credentials.ts'
import { asFetch } from '../support/fetch-handler.ts'
import { leapingClock } from '../support/leaping-clock.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { fixtureEndpoint, fixtureHttp } from './fixture.ts'
import { x402Payload } from './payers.ts'
import { callTool, JSON_HEADERS, rpc } from './rpc.ts'

// The endpoint where it is mounted: on the x402 host of a whole shop, behind the same limits as everything else.

let shop: TestShop
let mcp: string
const origin = 'https://agents.example'

/** Two public hosts that both lead to this machine, and small allowances. */
function strict(config: Config): Config {
  const { http, limits } = config
  return {
    ...config,
    http: { ...http, x402BaseUrl: http.baseUrl.replace('localhost', '127.0.0.1'), mcpOrigins: [origin] },
    limits: { ...limits, rate: { unpaid: 3, quote: 2, read: 1_000, failed: 2 } },
  }
}

before(async () => {
  shop = await startShop({ clock: leapingClock(), configure: strict })
  mcp = `${shop.config.http.x402BaseUrl}/mcp`
})
after(() => shop.stop())

const opening = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
const BENEFICIARY = '0x00000000000000000000000000000000000000aa'

test('only the x402 host serves it; the other one says where', async () => {
  verifies('1.8', '4.4.1')
  assert.equal((await rpc(mcp, 'initialize', opening)).status, 200)
  const elsewhere = await fetch(`${shop.url}/mcp`, { method: 'POST', headers: JSON_HEADERS, body: '{}' })
  assert.equal(elsewhere.status, 404)
  assert.match(((await elsewhere.json()) as { detail: string }).detail, new RegExp(mcp))
})

for (const method of ['GET', 'DELETE']) {
  test(`${method} is 405 with Allow, which clients take for "no stream and no session here"`, async () => {
    verifies('D19.1')
    const response = await fetch(mcp, { method })
    assert.equal(response.status, 405)
    assert.equal(response.headers.get('allow'), 'POST')
    assert.equal(response.headers.get('www-authenticate'), null)
  })
}

test('there is nothing to log in to', async () => {
  verifies('D19.1')
  const paths = [
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-authorization-server/mcp',
    '/.well-known/openid-configuration/mcp',
    '/mcp/.well-known/openid-configuration',
  ]
  for (const path of paths) {
    const response = await fetch(shop.config.http.x402BaseUrl + path)
    assert.equal(response.status, 404, path)
    assert.match(response.headers.get('content-type')!, /^application\/json/)
  }
})

test('P-01: a name that is not ours is a rebinding, and is refused', async () => {
  const [status, body] = await knock({ host: 'evil.example' })
  assert.equal(status, 421)
  assert.ok(body)
})

/** fetch does not let anybody lie about the host. */
function knock(headers: Record<string, string>): Promise<[status: number | undefined, body: string]> {
  const { port } = new URL(mcp)
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', path: '/mcp', method: 'POST', headers: { ...JSON_HEADERS, ...headers } }
    request(options, (incoming) => {
      let text = ''
      incoming.on('data', (chunk) => (text += chunk)).on('end', () => resolve([incoming.statusCode, text]))
    })
      .once('error', reject)
      .end(body)
  })
}

test('a page of an allowed origin can call from a browser, and no other page can', async () => {
  const preflight = (from: string) =>
    fetch(mcp, {
      method: 'OPTIONS',
      headers: {
        origin: from,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    })
  const allowed = await preflight(origin)
  assert.equal(allowed.status, 204)
  assert.equal(allowed.headers.get('access-control-allow-origin'), origin)
  assert.match(allowed.headers.get('access-control-allow-headers')!, /mcp-protocol-version/)
  assert.equal((await preflight('https://evil.example')).status, 403)
  const { headers } = await rpc(mcp, 'ping', {}, { headers: { origin } })
  assert.equal(headers.get('access-control-allow-origin'), origin)
  assert.equal((await rpc(mcp, 'ping')).headers.get('access-control-allow-origin'), null)
})

test('asking for prices and quotes uses up the same allowances as over HTTP; lists cost nothing', async () => {
  verifies('D19.2')
  const ask = () => callTool(mcp, 'check_payment_gateway', {})
  const first = await ask()
  assert.equal(first.isError, true)
  assert.ok(first.structuredContent)
  await fetch(`${shop.config.http.x402BaseUrl}/x402/cheap-health`)
  await ask()
  const limited = await ask()
  assert.match(limited.content[0]!.text, /rate_limited/)
  assert.equal(limited.structuredContent, undefined)
  const quote = () => callTool(mcp, 'quote_sale_lot', { saleId: 392, beneficiary: BENEFICIARY })
  for (let i = 0; i < 2; i++) assert.equal((await quote()).isError ?? false, false)
  assert.match((await quote()).content[0]!.text, /rate_limited/)
  for (let i = 0; i < 5; i++) assert.ok((await rpc(mcp, 'tools/list')).body.result)
})

test('P-08: a caller whose payments keep failing is not looked at any more, here and over HTTP', async () => {
  const payer = await fundedWallet(shop)
  const bad = { meta: { 'x402/payment': { x402Version: 2 } } }
  const buy = (meta: object) => callTool(mcp, 'check_payment_gateway', {}, meta)
  const refused = await buy(bad)
  assert.match(refused.content.at(-1)!.text, /not accepted/)
  await buy(bad)
  const payment = JSON.stringify(await x402Payload(payer, refused.structuredContent))
  // As a client sends it that drops what it does not know: a challenge of ours would be looked at.
  const header = withoutClaim(Buffer.from(payment).toString('base64'))
  const good = { meta: { 'x402/payment': header } }
  assert.match((await buy(good)).content[0]!.text, /rate_limited/)
  const overHttp = await fetch(`${shop.config.http.x402BaseUrl}/x402/cheap-health`, {
    headers: { 'payment-signature': header },
  })
  assert.equal(overHttp.status, 429)
})

test('what breaks inside is logged and not told', async () => {
  const lines: string[] = []
  const log: Log = createLog({ level: 'error', clock: systemClock, write: (line) => lines.push(line) })
  const answer = asFetch(fixtureEndpoint(fixtureHttp, log))
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'break' } })
  const response = await answer(new Request('http://shop.example/mcp', { method: 'POST', headers: JSON_HEADERS, body }))
  assert.equal((await response.text()).includes('nobody outside'), false)
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /nobody outside/)
})
