import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { WaypointName } from '../../../src/base/waypoint.ts'
import { LeaseLost } from '../../../src/domain/lease.ts'
import { createGameCalls } from '../../../src/store/game/calls.ts'
import { createItems } from '../../../src/store/game/items.ts'
import { createGameClient } from '../../../src/surfaces/shop/game-client.ts'
import { httpGame } from '../../../src/surfaces/shop/http-game.ts'
import { type Studio, startStudio } from '../../shop/studio.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { judgedCall } from '../../support/judged-call.ts'
import { leaseOn, takeOver } from '../../support/lease.ts'

// What leaves for a game carries the time at which it was written down, and is not sent late: a process may sleep between the two, and
// somebody may decide meanwhile that nothing was delivered.

let store: TestStore
let studio: Studio
before(async () => {
  store = await openStore('postgres')
  studio = await startStudio('0x1000000000000000000000000000000000000001')
})
after(async () => {
  await studio.stop()
  await store.drop()
})

const MINUTE = 60_000

test('C-03: a process that slept past the operator’s word sends nothing when it wakes', async () => {
  let now = Date.now()
  const clock = { now: () => now, sleep: systemClock.sleep }
  const calls = createGameCalls(store.db)
  const asleep = Promise.withResolvers<void>()
  const awake = Promise.withResolvers<void>()
  const game = httpGame({
    client: createGameClient({ url: studio.url, secret: studio.secret, timeoutMs: 1_000, clock }),
    calls,
    clock,
    log: silentLog,
    waypoint: async (name: WaypointName) => {
      if (name !== 'game.called') return
      asleep.resolve()
      await awake.promise
    },
    requestLifeMs: 2 * MINUTE,
    retryMs: 500,
  })
  const delivery = { orderId: 'ord_sleeper', playerId: 'p-1', itemId: 'gems:100', quantity: 1, attempts: 0 }
  const lease = await leaseOn(store.db, delivery.orderId)
  const granting = game.deliver({ ...delivery, lease, paidAt: now, deadline: now + 60 * MINUTE })
  await asleep.promise
  now += 2 * MINUTE + 4_000
  assert.equal(await calls.decide(await judgedCall(calls, delivery.orderId), 'not_delivered', 'ada'), true)
  awake.resolve()
  assert.equal((await granting).state, 'pending')
  assert.deepEqual(
    studio.calls.filter((call) => call.startsWith('POST /deliveries')),
    [],
  )
  assert.deepEqual(studio.deliveries(), [])
  const verdict = await game.deliver({ ...delivery, lease, paidAt: now, deadline: now + 60 * MINUTE })
  assert.equal(verdict.state, 'refused')
})

test('C-03: a request that was on the way for too long is signed with the time at which it left, and the game refuses it', async () => {
  const left = Date.now() - 2 * MINUTE
  const client = createGameClient({
    url: studio.directUrl,
    secret: studio.secret,
    timeoutMs: 1_000,
    // Asleep between the look at the clock and the first byte: as far as it knows, no time has passed.
    clock: { now: () => left, sleep: systemClock.sleep },
  })
  const body = { orderId: 'ord_late', playerId: 'p-1', itemId: 'gems:100', quantity: 1 }
  const never = { parse: () => assert.fail('the game took it') }
  await assert.rejects(client.send({ method: 'POST', path: '/deliveries', body, at: left }, never as never), {
    code: 'game_unavailable',
  })
  assert.deepEqual(studio.deliveries(), [])
})

test('C-03: a process that slept past its lease gives no item of the embedded game', async () => {
  await store.db.query(
    `insert into items (id, name, description, price, stock) values ('late:1', 'Late', 'Late', 1, 5)`,
  )
  const items = createItems(store.db)
  const lease = await leaseOn(store.db, 'ord_late')
  await takeOver(store.db, lease)
  await assert.rejects(
    items.grant(lease, { orderId: 'ord_late', playerId: 'p-1', itemId: 'late:1', quantity: 1 }),
    LeaseLost,
  )
  assert.equal(await items.granted('ord_late'), null)
})

test('C-03: a process that slept past its lease writes down no request to a game, and sends none', async () => {
  const calls = createGameCalls(store.db)
  const lease = await leaseOn(store.db, 'ord_late_call')
  const next = await takeOver(store.db, lease)
  const call = { orderId: 'ord_late_call', sentAt: 1_000, seen: null }
  assert.equal(await calls.begin(lease, call), false)
  assert.equal(await calls.find('ord_late_call'), null)
  assert.equal(await calls.begin(next, call), true)
})
