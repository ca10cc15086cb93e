import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/load.ts'
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
