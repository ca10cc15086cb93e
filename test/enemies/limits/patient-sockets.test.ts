import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import type { Waypoint } from '../../../src/base/waypoint.ts'
import type { Config } from '../../../src/config/config.ts'
import { openWire, postHead } from '../../http/wire.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { head, openMute } from './mute-socket.ts'

// Sockets that are opened and kept, bodies that do not end, questions that nobody limits: none of them takes a place from anybody.

const BUY = '/agentic/x402/buy'
const lot = { saleId: 392, beneficiary: '0x000000000000000000000000000000000000dEaD' }

const limited =
  (limits: Partial<Config['limits']>, http: Partial<Config['http']> = {}) =>
  (config: Config): Config => ({
    ...config,
    http: { ...config.http, ...http },
    limits: { ...config.limits, ...limits },
  })

async function withShop(configure: (config: Config) => Config, work: (shop: TestShop) => Promise<void>): Promise<void> {
  const shop = await startShop({ configure })
  try {
    await work(shop)
  } finally {
    await shop.stop()
  }
}

describe('a body that does not end', () => {
  let shop: TestShop
  before(async () => {
    shop = await startShop({ configure: limited({ requestsMax: 5, purchasesMax: 3, requestMsMax: 60_000 }) })
  })
  after(() => shop.stop())

  for (const [what, headers] of [
    ['an unpaid call', ''],
    ['a payment', '\r\nPAYMENT-SIGNATURE: e30='],
  ] as const)
    test(`of ${what} holds no place: others read, and others buy`, async () => {
      const slow = Array.from({ length: 30 }, () => {
        const wire = openWire(shop)
        wire.write(`${postHead(BUY, 1_000)}${headers}\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n\r\n`)
        return wire
      })
      // All of them were told to go on, so the shop waits for them.
      for (const wire of slow) {
        assert.equal((await wire.next()).status, 100)
        wire.write('{')
      }
      assert.equal((await fetch(`${shop.url}/catalog`)).status, 200)
      const buyer = await fundedWallet(shop)
      const payment = await x402UnderTest.pay(shop, buyer, await fetch(shop.url + BUY, post(lot)))
      assert.equal((await fetch(shop.url + BUY, post(lot, { 'payment-signature': payment }))).status, 200)
      for (const { socket } of slow) socket.destroy()
    })
})

test('a socket with more requests than may wait for an answer is cut; as many as may are answered', async () => {
  await withShop(limited({ pipelineMax: 5 }), async (shop) => {
    const polite = openWire(shop)
    polite.write(head('GET', '/payments/nothing').repeat(5))
    for (let i = 0; i < 5; i++) assert.equal((await polite.next()).status, 404)
    const rude = openWire(shop)
    rude.write(head('GET', '/payments/nothing').repeat(6))
    assert.deepEqual(await rude.answers(), [])
    polite.write(head('GET', '/payments/nothing'))
    assert.equal((await polite.next()).status, 404)
    polite.socket.destroy()
  })
})

test('connections of one client are the proxy’s behind a proxy', async () => {
  await withShop(limited({ connectionsPerClientMax: 2 }, { proxyHops: 1 }), async (shop) => {
    const wires = Array.from({ length: 20 }, () => openWire(shop))
    for (const wire of wires) {
      wire.write(head('GET', '/health/live'))
      assert.equal((await wire.next()).status, 200)
    }
    for (const { socket } of wires) socket.destroy()
  })
})

describe('questions that lead nowhere', () => {
  const rate = { unpaid: 1_000, quote: 1_000, read: 5, failed: 1_000 }
  const moment = systemClock.now()
  /** No window ends in the middle of a test. */
  const clock: Clock = { ...systemClock, now: () => moment }
  let shop: TestShop
  before(async () => {
    shop = await startShop({ configure: limited({ rate }, { proxyHops: 1 }), clock })
  })
  after(() => shop.stop())

  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  for (const [index, [what, method, path, status, body = null]] of (
    [
      ['preflights', 'OPTIONS', '/catalog', 204],
      ['preflights of nothing', 'OPTIONS', '/nothing', 204],
      ['paths that are not there', 'GET', '/nothing', 404],
      ['methods that are not there', 'PUT', '/catalog', 405],
      ['methods that an asset has not', 'PUT', '/favicon.svg', 405],
      ['preflights of MCP', 'OPTIONS', '/mcp', 204],
      ['methods that MCP has not', 'GET', '/mcp', 405],
      ['what MCP says of itself', 'POST', '/mcp', 200, list],
    ] as const
  ).entries())
    test(`${what}: they use up the caller's reads`, async () => {
      const headers = { 'x-forwarded-for': `198.51.100.${index}`, 'content-type': 'application/json' }
      const ask = () => fetch(shop.url + path, { method, headers, body })
      for (let i = 0; i < 5; i++) assert.equal((await ask()).status, status)
      const refused = await ask()
      assert.equal(refused.status, 429)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      assert.equal((await fetch(`${shop.url}/catalog`, { headers })).status, 429)
      assert.equal((await fetch(`${shop.url}/health/live`, { headers })).status, 200)
      assert.equal((await fetch(`${shop.url}/x402/report-tx`, { method: 'OPTIONS', headers })).status, 204)
    })
})

test('/health/live answers when every place is taken', async () => {
  let isClosed = true
  const held: (() => void)[] = []
  const waypoint: Waypoint = async (name) => {
    if (name === 'settle.begun' && isClosed) await new Promise<void>((resolve) => held.push(resolve))
  }
  const shop = await startShop({ waypoint, configure: limited({ requestsMax: 1, waitMsMax: 600_000 }) })
  try {
    const buyer = await fundedWallet(shop)
    const payment = await x402UnderTest.pay(shop, buyer, await fetch(shop.url + BUY, post(lot)))
    const buying = fetch(shop.url + BUY, post(lot, { 'payment-signature': payment }))
    await until(() => held.length === 1)
    assert.equal((await fetch(`${shop.url}/catalog`)).status, 503)
    for (let i = 0; i < 20; i++) assert.equal((await fetch(`${shop.url}/health/live`)).status, 200)
    isClosed = false
    for (const go of held) go()
    assert.equal((await buying).status, 200)
  } finally {
    await shop.stop()
  }
})

describe('the event stream', () => {
  let shop: TestShop
  before(async () => {
    // Who reads, reads in this process too: a busy machine may hold it up for a while.
    shop = await startShop({ configure: limited({ writeMsMax: 3_000 }) })
    assert.equal((await fetch(`${shop.url}/openapi.json`)).status, 200)
  })
  after(() => shop.stop())
  const stream = () =>
    head('GET', '/events?after=0', {
      Accept: 'text/event-stream',
      Authorization: `Bearer ${shop.config.operatorToken!.reveal()}`,
    })
  /** Larger than all buffers between two processes. */
  const addEvents = (subject: string, count: number) =>
    shop.store.db.query(
      `insert into events (subject, sequence, type, data)
       select $1, n, 'order.created', jsonb_build_object('pad', repeat('x', 10000))
       from generate_series(1, $2::int) as n`,
      [subject, count],
    )

  test('may be silent for longer than an answer may stand still, and goes on; who does not read it is cut', async () => {
    const listener = openWire(shop)
    // Twenty megabytes come by: each is looked at once, and none is kept.
    const heard = new Set<string>()
    let end = ''
    listener.socket.on('data', (chunk) => {
      const text = end + chunk.toString('latin1')
      for (const word of ['retry: 2000', '"first"', '"second"']) if (text.includes(word)) heard.add(word)
      end = text.slice(-20)
    })
    listener.write(stream())
    await until(() => heard.has('retry: 2000'))
    await addEvents('first', 2_000)
    const deaf = openMute(shop)
    deaf.write(stream())
    await until(() => deaf.isCut())
    await until(() => heard.has('"first"'))
    await addEvents('second', 1)
    await until(() => heard.has('"second"'))
    listener.socket.destroy()
  })
})
