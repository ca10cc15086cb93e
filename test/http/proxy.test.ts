import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { fundedWallet, mppPayer, type Pay, post, x402Payer } from '../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'

// H-06: proxies stand between agents and shops. They change the case of names, add lines, join lines, leave some out, and send again.

const PRICE = 250_000n

type Lines = readonly string[]
type Habits = {
  /** What becomes of the request's header lines: name, value, name, value. */
  readonly forward?: (lines: Lines) => Lines
  /** What becomes of the answer's. */
  readonly back?: (lines: Lines) => Lines
  /** How often a request with a payment is sent: a proxy whose connection broke sends once more. */
  readonly times?: number
}

let shop: TestShop
let buyer: PrivateKeyAccount
before(async () => {
  shop = await startShop()
  buyer = await fundedWallet(shop)
})
after(() => shop.stop())

async function withProxy(habits: Habits, work: (url: string) => Promise<void>): Promise<void> {
  const proxy: Server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat((await incoming.toArray()) as Buffer[])
    const lines = (habits.forward ?? same)(incoming.rawHeaders)
    const isPaid = lines.some((name) => /^(payment-signature|authorization)$/i.test(name))
    let answer: { readonly from: IncomingMessage; readonly body: Buffer } | null = null
    for (let sent = 0; sent < (isPaid ? (habits.times ?? 1) : 1); sent++) answer = await send(incoming, lines, body)
    outgoing.writeHead(answer!.from.statusCode!, [...(habits.back ?? same)(answer!.from.rawHeaders)])
    outgoing.end(answer!.body)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  try {
    await work(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
  } finally {
    proxy.closeAllConnections()
    await new Promise((resolve) => proxy.close(resolve))
  }
}

const same = (lines: Lines) => lines

function send({ method, url }: IncomingMessage, lines: Lines, body: Buffer) {
  const { hostname, port, host } = new URL(shop.url)
  return new Promise<{ from: IncomingMessage; body: Buffer }>((resolve, reject) => {
    const headers = [...without(lines, 'host'), 'Host', host]
    const call = request({ hostname, port, method, path: url, headers }, async (from) =>
      resolve({ from, body: Buffer.concat((await from.toArray()) as Buffer[]) }),
    )
    call.on('error', reject)
    call.end(body)
  })
}

const pairs = (lines: Lines) =>
  Array.from({ length: lines.length / 2 }, (_, index) => [lines[2 * index]!, lines[2 * index + 1]!] as const)
const without = (lines: Lines, ...names: readonly string[]) =>
  pairs(lines).flatMap(([name, value]) => (names.includes(name.toLowerCase()) ? [] : [name, value]))
const renamed = (lines: Lines, rename: (name: string) => string) =>
  pairs(lines).flatMap(([name, value]) => [rename(name), value])

const rails: readonly { readonly under: RailUnderTest; payer(): Pay }[] = [
  { under: x402UnderTest, payer: () => x402Payer(buyer) },
  { under: mppPullUnderTest, payer: () => mppPayer(shop, buyer, 'pull') },
]

let buyers = 0
const newLot = () => ({ saleId: 392, beneficiary: `0x${(0xfeed + buyers++).toString(16).padStart(40, '0')}` })

for (const { under, payer } of rails) {
  describe(`H-06: on ${under.name}, behind a proxy`, () => {
    const path = `/agentic/${under.rail}/buy`
    const paid = async (work: () => Promise<unknown>) => {
      const before = await under.till(shop)
      await work()
      return ((await under.till(shop)) - before) / PRICE
    }

    for (const [habit, rename] of [
      ['in capitals', (name: string) => name.toUpperCase()],
      ['in small letters', (name: string) => name.toLowerCase()],
    ] as const) {
      test(`that writes every name ${habit} and adds lines of its own, the stock client buys`, async () => {
        const habits = {
          forward: (lines: Lines) => [...renamed(lines, rename), 'Via', '1.1 proxy', 'X-Forwarded-For', '203.0.113.9'],
          back: (lines: Lines) => [...renamed(lines, rename), 'Via', '1.1 proxy'],
        }
        await withProxy(habits, async (url) => {
          const count = await paid(async () => {
            const response = await payer()(url + path, post(newLot()))
            assert.equal(response.status, 200)
            assert.ok(response.headers.get(under.receiptHeader))
          })
          assert.equal(count, 1n)
        })
      })
    }

    test('that sends a payment three times, it is taken once, and the answer is the first one', async () => {
      await withProxy({ times: 3 }, async (url) => {
        const count = await paid(async () => {
          const response = await payer()(url + path, post(newLot()))
          assert.deepEqual([response.status, response.headers.get('idempotent-replayed')], [200, 'true'])
        })
        assert.equal(count, 1n)
      })
    })
  })
}

test('H-06: behind a proxy that leaves out PAYMENT-REQUIRED, the terms are in the body', async () => {
  await withProxy({ back: (lines) => without(lines, 'payment-required') }, async (url) => {
    const body = newLot()
    const stripped = await fetch(`${url}/agentic/x402/buy`, post(body))
    const { x402Version, resource, accepts } = (await stripped.json()) as Record<string, unknown>
    const unpaid = new Response(null, {
      headers: {
        'payment-required': Buffer.from(JSON.stringify({ x402Version, resource, accepts })).toString('base64'),
      },
    })
    const credential = await x402UnderTest.pay(shop, buyer, unpaid)
    const response = await fetch(`${url}/agentic/x402/buy`, post(body, { 'payment-signature': credential }))
    assert.equal(response.status, 200)
  })
})
