import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { systemClock } from '../../src/base/clock.ts'
import { accountsOf } from '../../src/rails/kind.ts'
import { rails } from '../../src/rails/rails.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { createHealth } from '../../src/service/health.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { openStore } from '../support/database.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { asOperator, buy, buyUrl, CURSED_LOT, payFor, status } from './desk.ts'

type Readiness = {
  status: string
  checks: { name: string; status: string; detail: string }[]
  sells: { surface: string; protocol: string; status: string; reasons: string[] }[]
}

/** Takes away from the shop whatever a test wants to see it miss. */
const missing = { chains: new Set<number>(), store: false }
let shop: TestShop
let buyer: PrivateKeyAccount
let offset = 0
let atSettled: () => Promise<unknown> = async () => {}
before(async () => {
  shop = await startShop({
    // Answers are kept for two seconds: the tests move the clock instead of waiting.
    clock: {
      now: () => systemClock.now() + offset,
      sleep: systemClock.sleep,
    },
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 400, receiptWaitMs: 100 } }),
    waypoint: async (name) => {
      if (name === 'order.settled') await atSettled()
    },
    wrapTransport: (chainId, transport) => async (request) => {
      if (missing.chains.has(chainId)) throw new Error('connection refused')
      return transport(request)
    },
    wrapDatabase: (database) => ({
      ...database,
      async ping() {
        if (missing.store) throw new Error('connection refused')
        await database.ping()
      },
    }),
  })
  buyer = await fundedWallet(shop)
})
after(() => shop.stop())

async function ready(): Promise<{ code: number; body: Readiness }> {
  offset += 3_000
  const response = await fetch(`${shop.url}/health/ready`)
  return { code: response.status, body: (await response.json()) as Readiness }
}
const setGas = (address: string, wei: bigint) =>
  shop.chains.native.request({ method: 'dev_setBalance', params: [address, `0x${wei.toString(16)}`] })

describe('health', () => {
  test('a shop in order is ready; being alive is asked of nobody else', async () => {
    const { code, body } = await ready()
    assert.deepEqual([code, body.status], [200, 'ready'])
    assert.deepEqual(
      body.checks.map(({ name }) => name),
      [
        ...['store', 'chain 84532', 'chain 42431', 'rail x402', 'rail mpp', 'ledger'],
        ...['surface sale', 'surface shop', 'surface craft', 'float', 'worker', 'wallets'],
      ],
    )
    assert.ok(body.sells.every(({ status }) => status === 'up'))
    assert.deepEqual(body.sells.map(({ surface, protocol }) => `${surface} ${protocol}`).toSorted(), [
      'craft mpp',
      'craft x402',
      'gateway x402',
      'sale mpp',
      'sale x402',
      'shop mpp',
      'shop x402',
    ])
    assert.equal((await fetch(`${shop.url}/health/live`)).status, 200)
  })

  test('names what is missing, and is unready for as long as it is', async () => {
    verifies('D15.1', 'D15.2')
    missing.chains.add(42431)
    missing.store = true
    const { code, body } = await ready()
    assert.deepEqual([code, body.status], [503, 'unready'])
    assert.deepEqual(
      body.checks.filter(({ status }) => status === 'fail').map(({ name }) => name),
      ['store', 'chain 42431'],
    )
    assert.equal((await fetch(`${shop.url}/health/live`)).status, 200)
    missing.chains.clear()
    missing.store = false
    assert.equal((await ready()).code, 200)
  })

  test('a wallet that runs low is named, without its address or its balance', async () => {
    verifies('D15.2')
    await setGas(demoAddressOf('minter'), 1_000n)
    const { code, body } = await ready()
    assert.deepEqual([code, body.status], [200, 'degraded'])
    assert.match(body.checks.find(({ name }) => name === 'wallets')!.detail, /minter on 84532 \(gas\)/)
    assert.equal(JSON.stringify(body).toLowerCase().includes(demoAddressOf('minter').slice(2, 12).toLowerCase()), false)
    await setGas(demoAddressOf('minter'), 10n ** 20n)
    offset += 10_000
    assert.equal((await ready()).body.status, 'ready')
  })

  test('orders that nobody works on are told of', async () => {
    // A store of its own: in the shop's, the worker would take it up before anybody could look.
    const store = await openStore('postgres')
    await store.db.query(
      `insert into jobs (kind, key, run_at) values ('order', 'ord_1', now() - interval '90 seconds')`,
    )
    const gate = { assertOpen() {} }
    const wallets = async () => []
    const world = { rails: [], surfaces: new Map(), chains: [], gate, wallets }
    const health = createHealth({ ...world, database: store.db, clock: systemClock })
    const worker = (await health.read()).checks.find(({ name }) => name === 'worker')!
    assert.equal(worker.status, 'warn')
    assert.match(worker.detail, /9\d seconds/)
    await store.drop()
  })
})

describe('health of a facilitator', () => {
  test('that answers, that fails, and that is gone', async () => {
    const conduct = { status: 200 }
    const facilitator = createServer((_request, response) => response.writeHead(conduct.status).end('{}'))
    await new Promise<void>((resolve) => facilitator.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(facilitator.address() as AddressInfo).port}`
    const { config, store } = shop
    const ask = async () => {
      const remote = { ...config.x402!, facilitator: { kind: 'remote', url, headers: {} } as const }
      const accounts = accountsOf(rails, { ...config, x402: remote })
      const health = createHealth({
        rails: accounts.map(({ rail: name, chain: { chainId }, outside }) => ({
          ...{ name, chainId, outside },
          settlers: [],
          isTokenPaused: async () => false,
        })),
        surfaces: new Map(),
        database: store.db,
        chains: [],
        gate: { assertOpen() {} },
        wallets: async () => [],
        clock: systemClock,
      })
      return (await health.read()).checks.find(({ name }) => name === 'facilitator')!.status
    }
    assert.equal(await ask(), 'ok')
    conduct.status = 500
    assert.equal(await ask(), 'fail')
    facilitator.closeAllConnections()
    await new Promise((resolve) => facilitator.close(resolve))
    assert.equal(await ask(), 'fail')
  })
})

describe('M-22: without gas', () => {
  const rail = x402UnderTest
  const send = ({ request, credential }: Awaited<ReturnType<typeof payFor>>) =>
    fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))

  test('nothing is taken for what could not be delivered, and the same payment buys when there is gas again', async () => {
    const till = await rail.till(shop)
    await setGas(demoAddressOf('minter'), 0n)
    const payment = await payFor(shop, rail, buyer)
    offset += 10_000
    const response = await send(payment)
    assert.equal(response.status, 503)
    const { code, payment: told } = (await response.json()) as { code: string; payment: { taken: boolean } }
    assert.deepEqual([code, told.taken], ['relayer_unfunded', false])
    assert.equal(await rail.till(shop), till)
    await setGas(demoAddressOf('minter'), 10n ** 20n)
    offset += 10_000
    const { statusUrl } = (await (await send(payment)).json()) as { statusUrl: string }
    await until(async () => (await status(statusUrl)).status === 'confirmed')
  })

  test('nothing is taken either when nobody can pay for the settlement itself', async () => {
    const till = await rail.till(shop)
    const payment = await payFor(shop, rail, buyer)
    await setGas(demoAddressOf('settler'), 0n)
    offset += 10_000
    const response = await send(payment)
    assert.equal(response.status, 503)
    const { code, payment: told } = (await response.json()) as { code: string; payment: { taken: boolean } }
    assert.deepEqual([code, told.taken], ['relayer_unfunded', false])
    await setGas(demoAddressOf('settler'), 10n ** 20n)
    offset += 10_000
    assert.equal(await rail.till(shop), till)
    const { statusUrl } = (await (await send(payment)).json()) as { statusUrl: string }
    await until(async () => (await status(statusUrl)).status === 'confirmed')
  })

  test('what is paid for already waits for it, and is then delivered', async () => {
    atSettled = () => setGas(demoAddressOf('minter'), 0n)
    const response = await send(await payFor(shop, rail, buyer))
    atSettled = async () => {}
    assert.equal(response.status, 202)
    const { orderId, statusUrl } = (await response.json()) as { orderId: string; statusUrl: string }
    assert.notEqual((await status(statusUrl)).status, 'confirmed')
    await setGas(demoAddressOf('minter'), 10n ** 20n)
    await until(async () => (await status(statusUrl)).status === 'confirmed')
    assert.equal((await shop.service.checkout.orders.byId(orderId))!.refund, null)
  })
})

describe('the figures', () => {
  const figures = async () => {
    const text = await (await asOperator(shop, '/metrics')).text()
    const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    return {
      text,
      value: (series: string) =>
        Number(
          samples
            .find((line) => line.startsWith(`${series} `))
            ?.split(' ')
            .at(-1) ?? Number.NaN,
        ),
    }
  }

  test('count the way from 402 to delivery, per surface and rail, and what goes back', async () => {
    const before = await figures()
    const { body: sold } = await buy(shop, x402UnderTest, buyer)
    const { body: cursed } = await buy(shop, x402UnderTest, buyer, CURSED_LOT)
    const ended = async (orderId: string) => (await status(`${shop.url}/agentic/x402/purchases/${orderId}`)).status
    await until(async () => (await ended(sold.orderId)) === 'confirmed' && (await ended(cursed.orderId)) === 'refunded')
    const then = await figures()
    const grew = (series: string) => then.value(series) - (before.value(series) || 0)
    const of = (state: string) => `sutler_orders_total{surface="sale",rail="x402",status="${state}"}`
    assert.equal(grew('sutler_challenges_total{surface="sale",rail="x402",code="payment_required"}'), 2)
    assert.deepEqual(
      ['settling', 'settled', 'confirmed', 'failed', 'refunded'].map((state) => grew(of(state))),
      [2, 2, 1, 1, 1],
    )
    assert.equal(then.value('sutler_settlement_seconds_count{rail="x402"}') >= 2, true)
    assert.equal(then.value('sutler_unknown_outcomes'), 0)
    assert.equal(then.value('sutler_refunds_open'), 0)
    assert.ok(then.value('sutler_oldest_open_order_seconds') >= 0)
    assert.ok(
      then.value(`sutler_wallet_balance{role="minter",chain="84532",address="${demoAddressOf('minter')}",unit="wei"}`) >
        0,
    )
    assert.ok(
      then.value('sutler_http_request_seconds_count{method="POST",route="/agentic/x402/buy",status="402"}') >= 2,
    )
  })
})
