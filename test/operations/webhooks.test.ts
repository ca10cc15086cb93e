import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { parseCsv } from '../../src/base/csv.ts'
import { eventDescriptions, eventTypes } from '../../src/domain/event.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPushUnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { asOperator, buy } from './desk.ts'

let shop: TestShop
let receiver: Receiver
before(async () => {
  receiver = await startReceiver()
  shop = await startShop({ env: { SUTLER_WEBHOOK_LOOPBACK: 'true' } })
})
after(async () => {
  await shop.stop()
  await receiver.stop()
})

type Endpoint = { id: string; url: string; state: string; secret?: string; isRotating: boolean }

const call = async <Body>(path: string, init?: RequestInit) => {
  const response = await asOperator(shop, `/operator/webhooks${path}`, init)
  return { status: response.status, body: (await response.json()) as Body }
}
const list = async () => (await call<{ webhooks: Endpoint[] }>('')).body.webhooks

test('a purchase is told to a receiver as it goes on, in order, signed, and as its buyer sees it', async () => {
  verifies('6.1', 'D10.4')
  const { status, body: endpoint } = await call<Endpoint>('', post({ url: receiver.url, description: 'books' }))
  assert.equal(status, 201)
  const { body } = await buy(shop, mppPushUnderTest, await fundedWallet(shop))
  await until(() => receiver.messages.length === 3)
  assert.deepEqual(
    receiver.messages.map(({ event }) => [event.type, event.data['sequence']]),
    [
      ['order.created', 1],
      ['payment.settled', 2],
      ['order.confirmed', 3],
    ],
  )
  for (const { body: text, headers } of receiver.messages)
    new Webhook(endpoint.secret!).verify(text, headers as Record<string, string>)
  const { sequence: _, ...data } = receiver.messages.at(-1)!.event.data
  assert.deepEqual(data, JSON.parse(JSON.stringify(body)))

  type Log = { deliveries: { type: string; state: string; answers: { status: number }[] }[] }
  const readLog = async () => (await call<Log>(`/${endpoint.id}/deliveries`)).body.deliveries
  await until(async () => (await readLog()).every(({ state }) => state === 'delivered'))
  assert.deepEqual(
    (await readLog()).map(({ type, state, answers }) => [type, state, answers[0]!.status]),
    [
      ['order.confirmed', 'delivered', 200],
      ['payment.settled', 'delivered', 200],
      ['order.created', 'delivered', 200],
    ],
  )
  const table = await asOperator(shop, `/operator/webhooks/${endpoint.id}/deliveries?state=delivered&format=csv`)
  const [columns, ...lines] = parseCsv(await table.text()).map(({ cells }) => cells)
  assert.equal(columns!.join(), 'position,eventId,type,subject,state,attempts,answers')
  assert.deepEqual(
    lines.map((cells) => cells[2]),
    ['order.confirmed', 'payment.settled', 'order.created'],
  )
})

test('an endpoint is listed without its secret, rotated, disabled, enabled, replayed and removed', async () => {
  const [endpoint] = await list()
  assert.equal('secret' in endpoint!, false)
  assert.equal((await call(`/${endpoint!.id}/rotate`, { method: 'POST' })).status, 200)
  assert.equal((await list())[0]!.isRotating, true)
  const { body: off } = await call<Endpoint>(`/${endpoint!.id}/disable`, post({ reason: 'holiday' }))
  assert.equal(off.state, 'disabled')
  await buy(shop, mppPushUnderTest, await fundedWallet(shop))
  assert.equal((await call<Endpoint>(`/${endpoint!.id}/enable`, { method: 'POST' })).body.state, 'enabled')
  const { status, body } = await call<{ queued: number }>(`/${endpoint!.id}/replay`, post({}))
  assert.deepEqual([status, body.queued], [202, 3], 'what happened meanwhile')
  await until(() => receiver.messages.length === 6)
  const { body: again } = await call<{ queued: number }>(`/${endpoint!.id}/replay`, post({ after: '3', which: 'all' }))
  assert.equal(again.queued, 3)
  await until(() => receiver.messages.length === 9)
  assert.deepEqual(
    receiver.messages.slice(6).map(({ id }) => id),
    receiver.messages.slice(3, 6).map(({ id }) => id),
  )
  assert.equal((await call(`/${endpoint!.id}`, { method: 'DELETE' })).status, 200)
  assert.deepEqual(await list(), [])
  assert.equal((await call(`/${endpoint!.id}`, { method: 'DELETE' })).status, 404)
  for (const path of ['rotate', 'replay', 'enable', 'disable'])
    assert.equal((await call(`/${endpoint!.id}/${path}`, { method: 'POST' })).status, 404, path)
})

test('what cannot be registered is refused with a reason', async () => {
  for (const body of [
    {},
    { url: 'https://10.0.0.1/' },
    { url: 'http://example.com/' },
    { url: receiver.url, eventTypes: ['order.unknown'] },
    { url: receiver.url, eventTypes: [] },
    { url: receiver.url, secret: 'mine' },
  ])
    assert.equal((await call('', post(body))).status, 400, JSON.stringify(body))
  assert.deepEqual(await list(), [])
})

test('every event type is described for the documents', () => {
  for (const type of eventTypes) assert.match(eventDescriptions[type], /^[A-Z].*\.$/)
  assert.deepEqual(Object.keys(eventDescriptions).toSorted(), [...eventTypes].toSorted())
})
