import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Waypoint, WaypointName } from '../../src/base/waypoint.ts'
import type { Config } from '../../src/config/config.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'

const PRICE = 250_000n

/** Each payment buys for somebody else: a second payment for the very same purchase would rightly wait for the first one's end. */
function lotFor(buyer: number) {
  return { saleId: 392, beneficiary: `0x${(buyer + 0xbeef).toString(16).padStart(40, '0')}` }
}

type Paid = { readonly body: ReturnType<typeof lotFor>; readonly payment: string }

/** Holds purchases at one of their steps until it is opened. */
function createGate(): {
  readonly waypoint: Waypoint
  close(at: WaypointName): void
  open(): void
  readonly held: number
} {
  let closedAt: WaypointName | null = null
  const waiting: (() => void)[] = []
  return {
    async waypoint(name) {
      if (name === closedAt) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    close(at) {
      closedAt = at
    },
    open() {
      closedAt = null
      for (const go of waiting.splice(0)) go()
    },
    get held() {
      return waiting.length
    },
  }
}

async function withShop(
  options: { readonly limits?: Partial<Config['limits']>; readonly poolSize?: number },
  work: (shop: TestShop, gate: ReturnType<typeof createGate>, buy: Buy) => Promise<void>,
): Promise<void> {
  const gate = createGate()
  const shop = await startShop({
    waypoint: gate.waypoint,
    configure: (config) => ({ ...config, limits: { ...config.limits, ...options.limits } }),
    ...(options.poolSize === undefined ? {} : { poolSize: options.poolSize }),
  })
  const buyer = await fundedWallet(shop)
  let lots = 0
  const credential = async () => {
    const body = lotFor(lots++)
    return {
      body,
      payment: await x402UnderTest.pay(shop, buyer, await fetch(`${shop.url}/agentic/x402/buy`, post(body))),
    }
  }
  const send = ({ body, payment }: Paid, url = shop.url, signal?: AbortSignal) =>
    fetch(`${url}/agentic/x402/buy`, { ...post(body, { 'payment-signature': payment }), ...(signal ? { signal } : {}) })
  try {
    await work(shop, gate, { credential, send })
  } finally {
    gate.open()
    await shop.stop()
  }
}

type Buy = {
  credential(): Promise<Paid>
  send(paid: Paid, url?: string, signal?: AbortSignal): Promise<Response>
}

describe('C-04: a stop', () => {
  test('lets nobody in any more, and answers everybody who was in', async () => {
    verifies('D12.8')
    await withShop({}, async (shop, gate, { credential, send }) => {
      const payments = await Promise.all(Array.from({ length: 5 }, () => credential()))
      const before = await x402UnderTest.till(shop)
      gate.close('deliver.begun')
      const answers = payments.map((payment) => send(payment))
      await until(async () => gate.held === payments.length)
      const stopped = shop.service.stop()
      await assert.rejects(fetch(`${shop.url}/health/live`))
      gate.open()
      for (const answer of await Promise.all(answers)) {
        assert.equal(answer.status, 200)
        assert.equal(answer.headers.get('connection'), 'close')
      }
      await stopped
      assert.equal(((await x402UnderTest.till(shop)) - before) / PRICE, 5n)
    })
  })

  test('under load a client sees an answer or a closed door, never a 5xx, and the same credential works next door', async () => {
    await withShop({}, async (shop, _gate, { credential, send }) => {
      const replica = await shop.replica()
      const payments = await Promise.all(Array.from({ length: 20 }, () => credential()))
      const before = await x402UnderTest.till(shop)
      const answers: string[] = []
      const buy = async (paid: Paid) => {
        const first = await send(paid).catch(() => null)
        const answer = first ?? (await send(paid, replica.url))
        const { code, orderId } = (await answer.json()) as { code?: string; orderId?: string }
        answers.push(answer.status < 300 ? 'taken' : `${answer.status} ${code}`)
        await until(async () => (await fetch(`${replica.url}/agentic/x402/purchases/${orderId}`)).status !== 202)
      }
      const buying = payments.map(async (payment, index) => {
        // Some are under way when the stop begins, some come after it.
        if (index >= 7) await until(async () => answers.length > index - 7)
        await buy(payment)
      })
      await until(async () => answers.length > 3)
      await Promise.all([shop.service.stop(), ...buying])
      assert.deepEqual([...new Set(answers)], ['taken'])
      assert.equal(((await x402UnderTest.till(shop)) - before) / PRICE, 20n)
    })
  })
})

test('M-01: a client that goes away in the middle of its purchase', async (t) => {
  // One shop for all steps: each payment is for another beneficiary.
  await withShop({}, async (shop, gate, { credential, send }) => {
    for (const step of ['order.opened', 'settle.begun', 'settle.done', 'deliver.begun', 'deliver.done'] as const)
      await t.test(`at ${step}: the work goes on, and the same credential gets the result`, async () => {
        const payment = await credential()
        const before = await x402UnderTest.till(shop)
        gate.close(step)
        const leaving = new AbortController()
        const left = assert.rejects(send(payment, shop.url, leaving.signal))
        await until(async () => gate.held === 1)
        leaving.abort()
        await left
        gate.open()
        const again = await send(payment)
        assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
        assert.equal(((await x402UnderTest.till(shop)) - before) / PRICE, 1n)
      })
  })
})

test('C-07: purchases that wait for a slow chain keep no connection of the store, and those who only read are served', async () => {
  // Five times as many as there are connections. Nobody is answered before the gate opens, so that whoever has room keeps it.
  const limits = { purchasesMax: 10, waitMsMax: 600_000, leaseSeconds: 600 }
  await withShop({ poolSize: 2, limits }, async (shop, gate, { credential, send }) => {
    const payments: Paid[] = []
    for (let i = 0; i < 13; i++) payments.push(await credential())
    gate.close('settle.begun')
    const answers = payments.map((payment) => send(payment))
    await until(async () => gate.held === 10)
    // All that there is room for are waiting; the rest were turned away before anything was taken.
    const reads = await Promise.all(Array.from({ length: 20 }, () => fetch(`${shop.url}/payments/nothing`)))
    assert.deepEqual([...new Set(reads.map(({ status }) => status))], [404])
    gate.open()
    const statuses = (await Promise.all(answers)).map(({ status }) => status).sort()
    assert.deepEqual(
      [statuses.filter((status) => status === 503).length, statuses.filter((status) => status < 300).length],
      [3, 10],
    )
  })
})
