import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { TimelineView } from '../../src/api/operator/order-timeline.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { TRIES_MAX } from '../../src/store/orders/tries.ts'
import { json, linkedBuyer, type Refusal, ways } from '../shop/support.ts'
import { fundedWallet, mppPayer, post, x402Payer } from '../support/buyers.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { asOperator, buy } from './desk.ts'

// What an operator reads of one order: everything that was tried, why it came to nothing, and what comes next.

const lines: string[] = []
const missing = new Set<number>()
let atSettled: () => void = () => {}
let shop: TestShop
before(async () => {
  shop = await startShop({
    env: { SUTLER_WEBHOOK_LOOPBACK: 'true' },
    log: createLog({ level: 'debug', clock: systemClock, write: (line) => void lines.push(line) }),
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 100 },
    }),
    waypoint: async (name) => {
      if (name === 'order.settled') atSettled()
    },
    wrapTransport: (chainId, transport) => async (request) => {
      if (missing.has(chainId)) throw new Error('connection refused')
      return transport(request)
    },
  })
})
after(() => shop.stop())

async function told(reference: string): Promise<TimelineView> {
  return json<TimelineView>(await asOperator(shop, `/operator/orders/${reference}`), 200)
}

for (const way of ways)
  test(`${way.name}: each failed try is told with its reason, and who heard of the order`, async () => {
    const receiver = createServer((_, response) => response.writeHead(204).end('thanks')).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
    const { id } = await json<{ id: string }>(await asOperator(shop, '/operator/webhooks', post({ url })), 201)
    const payer = way.payer(shop, await fundedWallet(shop))
    const body = { itemId: 'keys:5', nickname: 'flaky_delivery' }
    const response = await payer(`${shop.url}/shop/${way.rail}/buy`, post(body))
    assert.ok([200, 202].includes(response.status))
    const { orderId } = (await response.json()) as { orderId: string }
    await until(async () => {
      const { order, webhooks } = await told(orderId)
      return order.status === 'confirmed' && webhooks.length === 3 && webhooks.every((one) => one.state === 'delivered')
    })
    const { tries, next, webhooks } = await told(orderId)
    assert.deepEqual(
      tries.map(({ status, error, times }) => [status, error, times]),
      [['settled', 'the game stumbled, as this test player asks for', 2]],
    )
    assert.equal(next, null, 'nothing more is to be done')
    assert.deepEqual(
      webhooks.map(({ type, endpointId, answers }) => [type, endpointId, answers.at(-1)?.status]),
      ['order.created', 'payment.settled', 'order.confirmed'].map((type) => [type, id, 204]),
    )
    await asOperator(shop, `/operator/webhooks/${id}`, { method: 'DELETE' })
    receiver.close()
  })

test('a chain that goes silent after the payment: the order says so and when it is tried next, and goes on', async () => {
  const { chainId } = shop.chains.native
  atSettled = () => missing.add(chainId)
  const { body } = await buy(shop, x402UnderTest, await fundedWallet(shop))
  atSettled = () => {}
  await until(async () => (await told(body.orderId)).tries.length > 0)
  const { order, tries, next, sends } = await told(body.orderId)
  assert.equal(order.status, 'settled')
  assert.match(
    tries[0]!.error,
    /^chain_unavailable: Chain \d+ did not answer \w+; try again shortly\. \(connection refused\)$/,
  )
  assert.ok(next && Date.parse(next.at) > 0)
  assert.equal(sends[0]?.step, 'settle')
  missing.clear()
  await until(async () => {
    await asOperator(shop, `/operator/orders/${body.orderId}/retry`, { method: 'POST' })
    return (await told(body.orderId)).order.status === 'confirmed'
  })
  assert.ok((await told(body.orderId)).tries.length > 0, 'what was tried stays on record')
})

test('no line of the log says of a paid order that nothing was taken, and neither does its answer', async () => {
  const [mine, other] = await Promise.all([linkedBuyer(shop), linkedBuyer(shop)])
  const body = { itemId: 'keys:5', payer: mine.account.address }
  const response = await mppPayer(shop, other.account, 'push')(`${shop.url}/shop/mpp/buy`, post(body))
  const { orderId, detail } = await json<Refusal & { detail: string }>(response, 409)
  const about = lines.filter((line) => line.includes(orderId!))
  assert.ok(about.some((line) => line.includes('delivery is impossible')))
  for (const text of [...about, detail]) assert.doesNotMatch(text, /nothing was taken/i)
})

test('what is written down of an order is bounded, and the same again is only counted', async () => {
  const response = await x402Payer(await fundedWallet(shop))(
    `${shop.url}/shop/x402/buy`,
    post({ itemId: 'keys:5', nickname: 'Demo' }),
  )
  const { orderId } = (await response.json()) as { orderId: string }
  const jobs = () => shop.store.db.query('select from jobs where key = $1', [orderId])
  await until(async () => (await jobs()).rows.length === 0)
  const order = (await shop.service.checkout.orders.byId(orderId))!
  const lease = (await shop.service.checkout.jobs.begin(orderId, 60))!
  const { noteTry } = shop.service.checkout.orders
  for (let i = 0; i < TRIES_MAX + 5; i++) await noteTry({ order, lease }, `${i} ${'x'.repeat(1_000)}`)
  for (let i = 0; i < 3; i++) await noteTry({ order, lease }, 'the same')
  const { tries } = await told(orderId)
  assert.equal(tries.length, TRIES_MAX)
  assert.ok(tries.every(({ error }) => error.length <= 300))
  assert.deepEqual([tries.at(-1)?.error, tries.at(-1)?.times], ['the same', 3])
})
