import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Config } from '../../src/config/config.ts'
import { fundedWallet } from '../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { asOperator, buy } from './desk.ts'

let shop: TestShop
let buyer: PrivateKeyAccount
before(async () => {
  shop = await startShop()
  buyer = await fundedWallet(shop)
})
after(() => shop.stop())

type Event = {
  id: string
  position: string
  type: string
  subject: string
  sequence: number
  timestamp: string
  data: { status: string }
}
type Page = { events: Event[]; next: string; hasMore: boolean }

const page = async (query = '', at: Pick<TestShop, 'url' | 'config'> = shop) =>
  (await (await asOperator(at, `/events${query}`)).json()) as Page

/** A client of server-sent events, as small as one can be. */
async function listen(url: string, headers: Record<string, string>) {
  const abort = new AbortController()
  const response = await fetch(url, { headers: { accept: 'text/event-stream', ...headers }, signal: abort.signal })
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    close: () => abort.abort(),
    /** The next event. */
    async next(): Promise<Event & { lastEventId: string }> {
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end === -1) {
          const { value, done } = await reader.read()
          if (done) throw new Error('the stream ended')
          text += value
          continue
        }
        const lines = text.slice(0, end).split('\n')
        text = text.slice(end + 2)
        const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
        const data = field('data')
        if (data) return { ...(JSON.parse(data) as Event), lastEventId: field('id')! }
      }
    },
  }
}

const authorization = () => ({ authorization: `Bearer ${shop.config.operatorToken!.reveal()}` })

describe('the operator token', () => {
  const paths = ['/events', '/metrics', '/operator/webhooks', '/operator/reconcile', '/operator/orders/x/refund']

  test('is asked for on every operator route, whatever the method', async () => {
    verifies('D17.1')
    const wrong = [
      undefined,
      'Bearer',
      'Bearer ',
      'Bearer wrong',
      `Basic ${shop.config.operatorToken!.reveal()}`,
      'Payment abc',
    ]
    for (const path of paths)
      for (const authorization of wrong)
        for (const method of ['GET', 'POST', 'DELETE', 'PUT']) {
          const response = await fetch(shop.url + path, { method, headers: authorization ? { authorization } : {} })
          assert.equal(response.status, 401, `${method} ${path} ${authorization}`)
          assert.equal(((await response.json()) as { code: string }).code, 'operator_only')
          assert.equal(response.headers.get('www-authenticate'), 'Bearer realm="operator"')
        }
  })

  test('without one configured the routes do not exist', async () => {
    verifies('D17.1')
    const closed = await shop.replica({ configure: closedTo })
    for (const path of paths)
      assert.equal((await fetch(closed.url + path, { headers: authorization() })).status, 404, path)
  })

  test('opens no path by another spelling', async () => {
    verifies('D17.1')
    for (const path of ['/Events', '/events/', '//events', '/operator%2fwebhooks', '/operator/../events', '/events;x'])
      assert.notEqual((await fetch(shop.url + path)).status, 200, path)
  })
})

/** As a production without SUTLER_OPERATOR_TOKEN is configured. */
function closedTo(config: Config): Config {
  return { ...config, operatorToken: null, operators: { ...config.operators, console: false } }
}

describe('the event log', () => {
  test('I13: tells every state change of an order once, in its order, with the object as its buyer sees it', async () => {
    verifies('D10.1', 'D10.3')
    const { next: start } = await page('?limit=1000')
    const { body } = await buy(shop, x402UnderTest, buyer)
    const { events } = await page(`?after=${start}`)
    const own = events.filter(({ subject }) => subject === body.orderId)
    assert.deepEqual(
      own.map(({ type, sequence, data }) => [type, sequence, data.status]),
      [
        ['order.created', 1, 'settling'],
        ['payment.settled', 2, 'settled'],
        ['order.confirmed', 3, 'confirmed'],
      ],
    )
    assert.deepEqual(own.at(-1)!.data, JSON.parse(JSON.stringify(body)))
    assert.equal(new Set(own.map(({ id }) => id)).size, 3)
  })

  test('is read page by page without a gap, and a page ends where the next begins', async () => {
    verifies('D10.6')
    await buy(shop, mppPullUnderTest, buyer)
    const whole = await page('?limit=1000')
    const positions: string[] = []
    for (let after = '0', hasMore = true; hasMore; ) {
      const one = await page(`?after=${after}&limit=2`)
      positions.push(...one.events.map(({ position }) => position))
      after = one.next
      hasMore = one.hasMore
    }
    assert.deepEqual(
      positions,
      whole.events.map(({ position }) => position),
    )
    assert.deepEqual(
      positions,
      positions.map((_, n) => String(n + 1)),
    )
    assert.deepEqual((await page(`?after=${whole.next}`)).events, [])
  })

  test('refuses a position that it never gave: the reader was reading another log', async () => {
    const response = await asOperator(shop, '/events?after=999999')
    assert.equal(response.status, 400)
    for (const query of ['?after=-1', '?after=x', '?limit=0', '?limit=1001', '?before=1'])
      assert.equal((await asOperator(shop, `/events${query}`)).status, 400, query)
  })
})

describe('the event stream', () => {
  test('tells what happens as it happens, and after a cut goes on where it was cut, on any replica', async () => {
    verifies('D10.6')
    const replica = await shop.replica()
    const stream = await listen(`${shop.url}/events`, authorization())
    const { body: first } = await buy(shop, x402UnderTest, buyer)
    const seen: string[] = []
    let last = ''
    for (const type of ['order.created', 'payment.settled']) {
      const event = await stream.next()
      assert.deepEqual([event.type, event.subject], [type, first.orderId])
      seen.push(event.lastEventId)
      last = event.lastEventId
    }
    stream.close()
    const { body: second } = await buy(shop, mppPullUnderTest, buyer)
    const again = await listen(`${replica.url}/events`, { ...authorization(), 'last-event-id': last })
    const rest = [await again.next(), await again.next(), await again.next(), await again.next()]
    again.close()
    assert.deepEqual(
      rest.map(({ type, subject }) => [type, subject]),
      [
        ['order.confirmed', first.orderId],
        ['order.created', second.orderId],
        ['payment.settled', second.orderId],
        ['order.confirmed', second.orderId],
      ],
    )
    seen.push(...rest.map(({ lastEventId }) => lastEventId))
    assert.deepEqual(
      seen,
      seen.map((_, n) => String(Number(seen[0]) + n)),
    )
  })

  test('ends when the shop stops', async () => {
    const stopping = await shop.replica()
    const stream = await listen(`${stopping.url}/events`, authorization())
    await stopping.stop()
    await assert.rejects(stream.next())
  })
})
