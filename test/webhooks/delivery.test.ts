import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { RETRY_SECONDS } from '../../src/webhooks/endpoint-queue.ts'
import { engines, openStore, type TestStore } from '../support/database.ts'
import { tester } from '../support/doer.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { openPostOffice, type PostOffice } from './post-office.ts'
import { type Answer, type Receiver, startReceiver } from './receiver.ts'

for (const engine of engines) {
  describe(`deliveries on the ${engine} engine`, () => {
    let store: TestStore
    let office: PostOffice
    const receivers: Receiver[] = []
    const receiver = async (answer?: Answer) => {
      const started = await startReceiver(answer)
      receivers.push(started)
      return started
    }
    const log = (id: string) => office.webhooks.deliveries(id, { limit: 100 })
    const states = async (id: string) => (await log(id)).map(({ state }) => state)

    before(async () => {
      store = await openStore(engine)
    })
    beforeEach(async () => {
      await store.db.query(
        'truncate events, event_tail, webhook_endpoints, webhook_deliveries, jobs restart identity cascade',
      )
      office = openPostOffice(store.db)
    })
    afterEach(async () => {
      await office.worker.stop()
      await Promise.all(receivers.splice(0).map((one) => one.stop()))
    })
    after(() => store.drop())

    test('an event reaches its receiver once, signed, whole, with its sequence; the log keeps the answer', async () => {
      const hook = await receiver(() => ({ status: 200, body: 'thank you' }))
      const { endpoint, secret } = await office.webhooks.add(tester, {
        url: hook.url,
        description: 'test',
        eventTypes: null,
      })
      await office.insert(1, 1)
      await until(async () => (await states(endpoint.id))[0] === 'delivered')
      const [message] = hook.messages
      new Webhook(secret.reveal()).verify(message!.body, message!.headers as Record<string, string>)
      assert.deepEqual(Object.keys(message!.event), ['type', 'timestamp', 'data'])
      assert.deepEqual(message!.event.data, { orderId: 'ord_1', sequence: 1 })
      const [delivery] = await log(endpoint.id)
      assert.equal(delivery!.eventId, message!.id)
      assert.deepEqual(
        delivery!.answers.map(({ status, text }) => [status, text]),
        [[200, 'thank you']],
      )
      assert.equal(hook.messages.length, 1)
    })

    test('I13: a receiver that fails is told again with the same id, and hears the changes of an object in their order', async () => {
      verifies('D10.5')
      const hook = await receiver((_message, count) => (count % 3 === 0 ? 200 : 503))
      const id = await office.add(hook.url)
      await office.insert(3, 3)
      await until(async () => {
        await office.makeDue()
        return hook.taken.length === 9
      })
      for (const [orderId, own] of Map.groupBy(hook.taken, ({ event }) => event.data['orderId']))
        assert.deepEqual(
          own.map(({ event }) => event.data['sequence']),
          [1, 2, 3],
          String(orderId),
        )
      const ids = new Set(hook.messages.map((message) => message.id))
      assert.equal(ids.size, 9, 'a repetition has the id of what it repeats')
      await until(async () => (await states(id)).every((state) => state === 'delivered'))
    })

    test('I13: after three days of failures a message is a dead letter, the next change is told, and a replay sends it again', async () => {
      verifies('D10.5')
      const total = RETRY_SECONDS.reduce((sum, seconds) => sum + seconds, 0)
      assert.ok(total > 2.9 * 86_400 && total <= 3 * 86_400, `the pauses are ${total / 3600} hours together`)
      let isBack = false
      const hook = await receiver(({ event }) => (isBack || event.data['sequence'] === 2 ? 200 : 500))
      const id = await office.add(hook.url)
      await office.insert(1, 2)
      await until(async () => {
        await office.makeDue()
        return hook.taken.length === 1
      })
      assert.equal(hook.messages.length, RETRY_SECONDS.length + 2)
      await until(async () => (await states(id)).join() === 'delivered,dead')
      isBack = true
      assert.equal(await office.webhooks.replay(tester, id, { after: 0n, which: 'dead' }), 1)
      await until(async () => (await states(id)).join() === 'delivered,delivered')
      assert.equal(hook.taken.at(-1)!.id, hook.messages[0]!.id)
    })

    test('I13: 410 disables the endpoint; enabled again it gets what was pending', async () => {
      let isGone = true
      const hook = await receiver(() => (isGone ? 410 : 200))
      const id = await office.add(hook.url)
      await office.insert(1, 2)
      await until(async () => (await office.webhooks.list())[0]!.state === 'disabled')
      assert.match((await office.webhooks.list())[0]!.reason!, /410/)
      assert.deepEqual(await states(id), ['pending', 'pending'])
      isGone = false
      await office.webhooks.enable(tester, id)
      await until(async () => (await states(id)).join() === 'delivered,delivered')
      assert.equal(hook.messages.length, 3)
    })

    test('W-05: receivers that never answer do not keep others waiting', async () => {
      const tarpit = await receiver(() => null)
      const quick = await receiver()
      await office.add(tarpit.url)
      await office.add(quick.url)
      await office.insert(40, 1)
      await until(() => quick.taken.length === 40)
      assert.ok(tarpit.messages.length <= 8, 'no more than eight at a time')
    })

    test('W-01: a redirect is an answer like any other, and is not followed', async () => {
      verifies('D10.7')
      const inside = await receiver()
      const hook = await receiver(() => ({ status: 302, body: '', location: inside.url }))
      const id = await office.add(hook.url)
      await office.insert(1, 1)
      await until(async () => (await log(id))[0]?.answers.length === 1)
      assert.equal((await log(id))[0]!.answers[0]!.status, 302)
      assert.deepEqual(inside.messages, [])
    })
  })
}

test('W-01: an endpoint inside is refused at registration, and nothing is written', async () => {
  const store = await openStore('postgres')
  const office = openPostOffice(store.db)
  for (const url of [
    'https://10.0.0.1/',
    'https://169.254.169.254/',
    'https://no-such-name.invalid/',
    'http://example.com/',
  ])
    await assert.rejects(office.add(url), { code: 'invalid_request' })
  assert.deepEqual(await office.webhooks.list(), [])
  await office.worker.stop()
  await store.drop()
})
