import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import type { Service } from '../../../src/service/service.ts'
import { createPost } from '../../../src/webhooks/post.ts'
import type { Resolve } from '../../../src/webhooks/target.ts'
import { asOperator } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { answerTo } from '../../webhooks/name-server.ts'
import { insertEvents } from '../../webhooks/post-office.ts'

// A name that leads to a public address when it is judged, and into our own network when it is called. The name server is real, and the
// enemy's: it answers each question as it likes, and forbids to keep the answer.

const PUBLIC = '93.184.216.34'
const INSIDE = '127.0.0.1'

let questions = 0
let script: readonly (readonly string[])[] = []
/** The n-th answer of the script, and from its end on the last one. */
const nextAnswer = () => script[Math.min(questions++, script.length - 1)]!

const names = createSocket('udp4')
names.on('message', (query, { port, address }) => names.send(answerTo(query, nextAnswer()), port, address))
/** Our own network: whoever connects there has got in. */
const inside = createServer((socket) => {
  intruders++
  socket.destroy()
})
let intruders = 0
let resolve: Resolve
let shop: TestShop
let service: Service

before(async () => {
  await new Promise<void>((done) => names.bind(0, INSIDE, done))
  await new Promise<void>((done) => inside.listen(0, INSIDE, done))
  const resolver = new Resolver()
  resolver.setServers([`${INSIDE}:${names.address().port}`])
  resolve = (name) => resolver.resolve4(name)
  shop = await startShop({ withoutWorker: true })
  service = await shop.replica({ resolve, withoutWorker: false })
})
after(async () => {
  await shop.stop()
  names.close()
  inside.close()
})

const target = () => `https://rebind.test:${(inside.address() as AddressInfo).port}/hook`
function play(...answers: readonly (readonly string[])[]): void {
  questions = 0
  script = answers
}
const operator = async <Body>(path: string, init?: RequestInit) => {
  const response = await asOperator({ url: service.url, config: shop.config }, `/operator/webhooks${path}`, init)
  return { status: response.status, body: (await response.json()) as Body }
}
type Delivery = { readonly attempts: number; readonly error: string | null }

test('a webhook whose name led outside when it was registered, and leads inside when it is called, is not called', async () => {
  play([PUBLIC], [INSIDE])
  const { status, body: endpoint } = await operator<{ id: string }>(
    '',
    post({ url: target(), description: 'rebinding' }),
  )
  assert.equal(status, 201)
  await insertEvents(service.database, 1, 1)
  service.operations.wake()
  // It was tried, and refused for what its name led to.
  let tried: readonly Delivery[] = []
  await until(async () => {
    tried = (await operator<{ deliveries: Delivery[] }>(`/${endpoint.id}/deliveries`)).body.deliveries
    return tried.some(({ attempts }) => attempts > 0)
  })
  assert.match(JSON.stringify(tried), /leads to this very machine/)
  assert.equal(intruders, 0)
})

test('a name with one address outside and one inside is refused when it is registered', async () => {
  for (const both of [
    [PUBLIC, INSIDE],
    [INSIDE, PUBLIC],
  ]) {
    play(both)
    assert.equal((await operator('', post({ url: target(), description: '' }))).status, 400)
  }
})

test('between the judgement and the connection nobody asks for the name again', async () => {
  // The first answer passes; whoever asked a second time would be led inside.
  play([PUBLIC], [INSIDE])
  const send = createPost({ clock: systemClock, resolve, policy: { allowLoopback: false } })
  const stop = new AbortController()
  const first = send({ url: target(), headers: {}, body: '{}' }, stop.signal)
  first.catch(() => {})
  await until(() => questions >= 1)
  // The next message asks anew, and by then the first one has gone where it goes.
  await assert.rejects(send({ url: target(), headers: {}, body: '{}' }, stop.signal), /leads to this very machine/)
  stop.abort()
  await assert.rejects(first)
  assert.deepEqual([questions, intruders], [2, 0])
})
