import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/load.ts'
import { startDevChains } from '../../src/devchain/chains.ts'
import { serveRpc } from '../../src/devchain/server.ts'
import { startShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { assertProblem, openWire } from './wire.ts'

test('with a host for each protocol, a route of the other one says where it is, and any other name is not ours', async (t) => {
  verifies('D1.4')
  const shop = await startShop({
    configure: (config) => ({
      ...config,
      http: { ...config.http, x402BaseUrl: config.http.baseUrl.replace('localhost', '127.0.0.1') },
    }),
  })
  t.after(() => shop.stop())
  const { port } = new URL(shop.url)
  for (const [host, status, code] of [
    [`localhost:${port}`, 404, 'route_not_found'],
    [`127.0.0.1:${port}`, 402, 'payment_required'],
    [`shop.example:${port}`, 421, 'wrong_host'],
    ['localhost', 421, 'wrong_host'],
  ] as const) {
    const wire = openWire(shop)
    wire.write(`GET /x402/cheap-health HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    const { detail } = assertProblem(await wire.next(), status, code)
    if (status === 404) assert.match(detail, new RegExp(`http://127.0.0.1:${port}/x402/cheap-health`))
    wire.socket.destroy()
  }
})

test('P-01: a sandbox answers to no name that a stranger could have led to it, and to no page of theirs', async (t) => {
  verifies('D1.4')
  const shop = await startShop({ withSandboxRoutes: true })
  t.after(() => shop.stop())
  const { port } = new URL(shop.url)
  const ask = async (line: string, host: string, more = '') => {
    const wire = openWire(shop)
    wire.write(`${line} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`)
    const { status } = await wire.next()
    wire.socket.destroy()
    return status
  }
  const lines = ['GET /sandbox', 'GET /operator/system', 'GET /catalog', 'POST /sandbox/rpc/84532', 'GET /mcp']
  for (const line of lines) {
    for (const host of ['evil.example', `evil.example:${port}`, 'localhost.evil.example', '127.0.0.1.evil.example'])
      assert.equal(await ask(line, host), 421, `${line} of ${host}`)
    for (const host of [`localhost:${port}`, 'LOCALHOST', `127.0.0.1:${port}`, `[::1]:${port}`, '192.168.1.7:8080'])
      assert.notEqual(await ask(line, host), 421, `${line} of ${host}`)
  }
  for (const [origin, status] of [
    ['https://evil.example', 421],
    ['null', 421],
    ['http://localhost.evil.example', 421],
    [shop.url, 200],
    ['http://localhost:5173', 200],
  ] as const)
    for (const line of ['GET /sandbox', 'POST /sandbox/console'])
      assert.equal(await ask(line, `localhost:${port}`, `Origin: ${origin}\r\n`), status, `${line} from ${origin}`)
})

test('P-01: nor does a chain by itself', async (t) => {
  const chains = await startDevChains()
  const server = await serveRpc(chains.native)
  t.after(() => Promise.all([server.close(), chains.close()]))
  const ask = async (headers: Record<string, string>) => {
    const asked = request(server.url, { method: 'POST', headers }).end('{"jsonrpc":"2.0","id":1,"method":"evm_mine"}')
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    return answer.statusCode
  }
  assert.equal(await ask({ host: 'evil.example' }), 421)
  assert.equal(await ask({ origin: 'https://evil.example' }), 403)
  assert.equal(await ask({ origin: 'http://localhost:5173' }), 200)
  assert.equal(await ask({}), 200)
})

test('the sandbox is reached from its own machine only, unless HOST says otherwise', () => {
  verifies('D1.1', 'D12.3')
  for (const [env, host] of [
    [{}, '127.0.0.1'],
    [{ HOST: '0.0.0.0' }, '0.0.0.0'],
  ] as const) {
    const loaded = loadConfig(env)
    assert.ok(loaded.mode === 'sandbox')
    assert.equal(loaded.common.http.host, host)
    assert.equal(loaded.common.http.x402BaseUrl, loaded.common.http.baseUrl)
  }
})
