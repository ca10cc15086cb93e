import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { systemClock } from '../../../src/base/clock.ts'
import { systemExchange as exchange, OutgoingFailure } from '../../../src/base/outgoing.ts'
import { isProblem } from '../../../src/base/problem.ts'
import { Secret } from '../../../src/base/secret.ts'
import { httpTransport } from '../../../src/chain/transport.ts'
import { accountsOf } from '../../../src/rails/kind.ts'
import { rails } from '../../../src/rails/rails.ts'
import { createHealth } from '../../../src/service/health.ts'
import { createGameClient } from '../../../src/surfaces/shop/game-client.ts'
import { healthAnswer } from '../../../src/surfaces/shop/game-wire.ts'
import { said } from '../../checkout/counter.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { dripping, endless, type FarServer, startFarServer } from './far-servers.ts'

// Whoever we ask may answer for ever, slowly, packed, or with the address of somebody else.

const BYTES_MAX = 10_000
/** Of an endless answer some is on its way before it is hung up on. */
const BUFFERED_MAX = 32 << 20

async function far(t: TestContext, answer: Parameters<typeof startFarServer>[0]): Promise<FarServer> {
  const server = await startFarServer(answer)
  t.after(() => server.stop())
  return server
}

const ask = (url: string, timeoutMs = 5_000, { mayRepeat = false } = {}) =>
  exchange({ url, method: 'POST', body: '{}', timeoutMs, bytesMax: BYTES_MAX, mayRepeat })

describe('one question to a stranger', () => {
  test('E22: an answer without end is hung up on when it is larger than it may be', async (t) => {
    const { url } = await far(t, (response) => endless(response))
    await assert.rejects(ask(url), /larger than 10000 bytes/)
  })

  test('an answer that never comes, or never ends, is given up in time, and hung up on', async (t) => {
    for (const answer of [() => {}, dripping]) {
      const server = await far(t, answer)
      await assert.rejects(ask(server.url, 300), /no answer within 300 ms/)
      await until(async () => (await server.connections()) === 0)
    }
  })

  test('a redirect is a failure, and whoever it leads to hears nothing', async (t) => {
    const other = await far(t, (response) => response.end('{}'))
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await far(t, (response) => response.writeHead(status, { location: other.url }).end('{}'))
      await assert.rejects(ask(url), /redirects are not followed/)
    }
    assert.deepEqual(other.heard, [])
  })

  test('nothing is unpacked, and nobody is asked to pack', async (t) => {
    const bomb = gzipSync(Buffer.alloc(1 << 24))
    const server = await far(t, (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))
    await assert.rejects(ask(server.url), /packed \(gzip\)/)
    assert.equal(server.heard[0]!.headers['accept-encoding'], 'identity')
  })

  test('headers without end, another protocol and a half answer are failures', async (t) => {
    const headers = await far(t, (response) => response.writeHead(200, { 'x-large': 'x'.repeat(100_000) }).end())
    await assert.rejects(ask(headers.url), OutgoingFailure)
    const upgrade = await far(t, (response) =>
      response.socket!.end('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    )
    await assert.rejects(ask(upgrade.url), OutgoingFailure)
    const half = await far(t, (response) => {
      response.writeHead(200, { 'content-length': 10 }).write('half')
      response.destroy()
    })
    await assert.rejects(ask(half.url), OutgoingFailure)
  })

  test('is known never to have left when there was no connection, and only then', async () => {
    const neverSent = (expected: boolean) => (error: unknown) =>
      error instanceof OutgoingFailure && error.neverSent === expected
    const { url, stop } = await startFarServer(() => {})
    await assert.rejects(ask(url, 200), neverSent(false))
    await stop()
    await assert.rejects(ask(url), neverSent(true))
    await assert.rejects(ask('http://name.invalid/'), neverSent(true))
  })

  /** Closes each connection as soon as it is asked something for the second time. */
  async function closingServer(t: TestContext) {
    const asked = new WeakSet<object>()
    return far(t, (response, { socket }: IncomingMessage) => {
      if (asked.has(socket)) socket.destroy()
      else response.end('{}')
      asked.add(socket)
    })
  }

  test('what may be asked twice is asked once more when a kept connection is closed, and nothing else is', async (t) => {
    const server = await closingServer(t)
    for (const mayRepeat of [true, true, false]) assert.equal((await ask(server.url, 5_000, { mayRepeat })).status, 200)
    await assert.rejects(ask(server.url, 5_000, { mayRepeat: false }), OutgoingFailure)
    assert.equal(server.heard.length, 1 + 2 + 2)
  })
})

const BOMB = gzipSync(Buffer.alloc(1 << 26, ' '))

/** Servers that no client of ours may be hurt by. Each knows where it would send us. */
const hostile: readonly (readonly [string, (response: ServerResponse, elsewhere: string) => void])[] = [
  ['answers without end', (response) => endless(response)],
  ['answers drop by drop', (response) => dripping(response)],
  ['redirects', (response, elsewhere) => response.writeHead(307, { location: elsewhere }).end()],
  ['answers with a bomb', (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB)],
]

for (const [what, answer] of hostile) {
  test(`E22: a facilitator that ${what}: no payment is taken or lost, and nobody else sees it or our key`, async (t) => {
    const elsewhere = await far(t, (response) => response.end(JSON.stringify({ isValid: true })))
    let isHostile: 'verify' | 'settle' = 'verify'
    const facilitator = await startFarServer((response, request) =>
      request.url === `/${isHostile}` || request.url === '/supported'
        ? answer(response, elsewhere.url + request.url)
        : response.end(JSON.stringify({ isValid: true })),
    )
    const shop = await startShop({
      configure: (config) => ({
        ...config,
        limits: { ...config.limits, waitMsMax: 800, facilitatorTimeoutMs: 600 },
        x402: {
          ...config.x402!,
          facilitator: { kind: 'remote', url: facilitator.url, headers: { 'x-api-key': new Secret('k'.repeat(40)) } },
        },
      }),
    })
    t.after(async () => {
      await shop.stop()
      await facilitator.stop()
    })
    const { pay } = await prepare(shop)
    const refused = await pay()
    assert.deepEqual([refused.status, (await said(refused)).code], [503, 'facilitator_unavailable'])
    isHostile = 'settle'
    const unsure = await pay()
    assert.deepEqual([unsure.status, (await said(unsure)).payment.taken], [202, 'unknown'])
    assert.equal(await facilitatorHealth(shop), 'fail')
    assert.deepEqual(elsewhere.heard, [])
    assert.ok(facilitator.heard.every(({ headers }) => headers['x-api-key'] === 'k'.repeat(40)))
    assert.ok(facilitator.sent < BUFFERED_MAX, `${facilitator.sent} bytes were taken`)
  })

  test(`a game backend that ${what} is silent, and nobody else sees the request`, async (t) => {
    const elsewhere = await far(t, (response) => response.end('{}'))
    const { url } = await far(t, (response) => answer(response, elsewhere.url))
    const client = createGameClient({ url, secret: new Secret('s'.repeat(40)), timeoutMs: 600, clock: systemClock })
    await assert.rejects(client.read({ method: 'GET', path: '/health' }, healthAnswer), (error) =>
      isProblem(error, 'game_unavailable'),
    )
    assert.deepEqual(elsewhere.heard, [])
  })

  test(`a node of a chain that ${what} did not answer, and nobody else is asked`, async (t) => {
    const elsewhere = await far(t, (response) => response.end('{"result":"0x1"}'))
    const { url } = await far(t, (response) => answer(response, elsewhere.url))
    const transport = httpTransport(url, 600)
    await assert.rejects(transport({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }))
    assert.deepEqual(elsewhere.heard, [])
  })
}

async function prepare(shop: TestShop) {
  const buyer = await fundedWallet(shop)
  const url = `${shop.url}/agentic/x402/buy`
  const body = { saleId: 392, beneficiary: buyer.address }
  const credential = await x402UnderTest.pay(shop, buyer, await fetch(url, post(body)))
  return { pay: () => fetch(url, post(body, { 'payment-signature': credential })) }
}

async function facilitatorHealth({ config, store }: TestShop): Promise<string> {
  const gate = { assertOpen() {} }
  const open = accountsOf(rails, config).map(({ rail: name, chain: { chainId }, outside }) => ({
    ...{ name, chainId, outside },
    settlers: [],
    isTokenPaused: async () => false,
  }))
  const world = { database: store.db, chains: [], surfaces: new Map(), gate, wallets: async () => [] }
  const { checks } = await createHealth({ ...world, rails: open, clock: systemClock }).read()
  return checks.find(({ name }) => name === 'facilitator')!.status
}
