import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { isProblem } from '../../src/base/problem.ts'
import { noWaypoint } from '../../src/base/waypoint.ts'
import { createGameCalls } from '../../src/store/game/calls.ts'
import type { GameBackend, GameDelivery } from '../../src/surfaces/shop/game.ts'
import { createGameClient } from '../../src/surfaces/shop/game-client.ts'
import { httpGame } from '../../src/surfaces/shop/http-game.ts'
import { openStore, type TestStore } from '../support/database.ts'
import { leaseOn } from '../support/lease.ts'
import { verifies } from '../support/verifies.ts'
import { type Studio, startStudio } from './studio.ts'

// Long outages, on a clock that the test moves. The store, the sample backend and the sockets between are real.

const MINUTE = 60_000
const HOUR = 60 * MINUTE

let store: TestStore
let studio: Studio
let now = Date.now()
const alarms: string[] = []
before(async () => {
  store = await openStore('postgres')
  studio = await startStudio('0x1000000000000000000000000000000000000001')
})
after(async () => {
  await studio.stop()
  await store.drop()
})
afterEach(async () => {
  studio.fault = null
  alarms.length = 0
  await studio.listenAgain()
})

function gameAt(url: string): GameBackend {
  const clock = { now: () => now, sleep: systemClock.sleep }
  return httpGame({
    client: createGameClient({ url, secret: studio.secret, timeoutMs: 1_000, clock }),
    calls: createGameCalls(store.db),
    clock,
    log: createLog({ level: 'error', clock, write: (line) => void alarms.push(line) }),
    waypoint: noWaypoint,
    requestLifeMs: 2 * MINUTE,
    retryMs: 500,
  })
}

let orders = 0
async function newDelivery(): Promise<GameDelivery> {
  const orderId = `ord_patience${++orders}`
  return {
    orderId,
    playerId: 'p-1',
    itemId: 'gems:100',
    quantity: 1,
    paidAt: now,
    deadline: now + 24 * HOUR,
    attempts: 0,
    lease: await leaseOn(store.db, orderId),
  }
}

async function stateOf(game: GameBackend, delivery: GameDelivery): Promise<string> {
  try {
    return (await game.deliver(delivery)).state
  } catch (error) {
    if (isProblem(error, 'game_unavailable')) return 'silent'
    throw error
  }
}
const given = ({ orderId }: GameDelivery) => studio.deliveries().filter((delivery) => delivery.orderId === orderId)
const requests = (call: string) => studio.calls.filter((made) => made === call).length

test('F-06: for 24 hours a backend that cannot be reached is tried; then it is proven that nothing was delivered', async () => {
  const game = gameAt(studio.url)
  const delivery = await newDelivery()
  await studio.hangUp()
  for (const wait of [0, MINUTE, HOUR, 22 * HOUR]) {
    now += wait
    assert.equal(await stateOf(game, delivery), 'pending')
  }
  now = delivery.deadline
  const grant = await game.deliver(delivery)
  assert.equal(grant.state, 'refused')
  await studio.listenAgain()
  assert.deepEqual(given(delivery), [])
  assert.deepEqual(alarms, [])
})

test('F-06: a request whose answer was lost is not sent again while it may still arrive', async () => {
  const game = gameAt(studio.url)
  const delivery = await newDelivery()
  studio.fault = 'request_lost'
  const before = requests('POST /deliveries')
  assert.equal(await stateOf(game, delivery), 'pending')
  studio.fault = null
  for (const wait of [0, MINUTE, MINUTE - 1]) {
    now += wait
    assert.equal(await stateOf(game, delivery), 'pending')
  }
  assert.equal(requests('POST /deliveries') - before, 1)
  now += 1
  assert.equal(await stateOf(game, delivery), 'delivered')
  assert.equal(requests('POST /deliveries') - before, 2)
  assert.equal(given(delivery).length, 1)
})

test('F-06: a backend that is silent since it may have delivered is a case for an operator, and not for a refund', async () => {
  const game = gameAt(studio.url)
  const delivery = await newDelivery()
  studio.fault = 'answer_lost'
  assert.equal(await stateOf(game, delivery), 'pending')
  studio.fault = 'delivery_error'
  now += 23 * HOUR
  assert.equal(await stateOf(game, delivery), 'silent')
  assert.deepEqual(alarms, [])
  now = delivery.deadline + 24 * HOUR
  assert.equal(await stateOf(game, delivery), 'pending')
  assert.match(alarms.join(), /delivery_unknown/)
  // Whatever the operator does, the game's own word still counts when it comes.
  studio.fault = null
  assert.equal(await stateOf(game, delivery), 'delivered')
  assert.equal(given(delivery).length, 1)
})

test('a kill -9 of the backend right after it delivered loses nothing', async () => {
  const game = gameAt(studio.url)
  const delivery = await newDelivery()
  studio.fault = 'answer_lost'
  assert.equal(await stateOf(game, delivery), 'pending')
  studio.fault = null
  await studio.restart()
  assert.equal(await stateOf(game, delivery), 'delivered')
  assert.equal(given(delivery).length, 1)
})

test('the backend refuses requests that are old, changed, or not signed by the shop', async () => {
  verifies('D12.7')
  const delivery = await newDelivery()
  const direct = studio.directUrl
  const post = (headers: Record<string, string>) =>
    fetch(`${direct}/deliveries`, { method: 'POST', body: JSON.stringify(delivery), headers })
  assert.equal((await post({})).status, 401)
  now = Date.now() - 61_000
  assert.equal(await stateOf(gameAt(direct), delivery), 'pending')
  now = Date.now()
  assert.deepEqual(given(delivery), [])
})

test('an answer to another request, a redirect and an endless answer are not believed', async () => {
  const kept: { status: number; body: string; signature: string }[] = []
  let mode: 'keep' | 'replay' | 'redirect' | 'endless' = 'keep'
  const wire = createServer(async (request, response) => {
    if (mode === 'redirect') return void response.writeHead(307, { location: studio.directUrl + request.url }).end()
    if (mode === 'endless') return void response.end('x'.repeat(2 * 1024 * 1024))
    if (mode === 'keep') {
      const headers = Object.fromEntries(
        ['sutler-timestamp', 'sutler-signature'].map((name) => [name, String(request.headers[name])]),
      )
      const answer = await fetch(studio.directUrl + request.url, { headers })
      const signature = answer.headers.get('sutler-signature')!
      kept.push({ status: answer.status, body: await answer.text(), signature })
    }
    const { status, body, signature } = kept.at(-1)!
    response.writeHead(status, { 'sutler-signature': signature }).end(body)
  })
  await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve))
  now = Date.now()
  const game = gameAt(`http://127.0.0.1:${(wire.address() as AddressInfo).port}`)
  try {
    await game.assertReady()
    now += 1
    for (mode of ['replay', 'redirect', 'endless'] as const)
      await assert.rejects(game.assertReady(), (error) => isProblem(error, 'game_unavailable'), mode)
  } finally {
    wire.closeAllConnections()
    wire.close()
  }
})
