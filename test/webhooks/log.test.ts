import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { systemRandom } from '../../src/base/id.ts'
import type { EventType } from '../../src/domain/event.ts'
import type { Database, Queryable } from '../../src/store/db.ts'
import { lastPosition, readEvents } from '../../src/store/events.ts'
import { claim, release } from '../../src/store/jobs.ts'
import { finishQueue, nextDeliveries, replayDeliveries } from '../../src/store/webhooks/deliveries.ts'
import { insertEndpoint, queueKind, setEndpointState } from '../../src/store/webhooks/endpoints.ts'
import { pumpEvents } from '../../src/webhooks/pump.ts'
import { newWebhookSecret } from '../../src/webhooks/sign.ts'
import { engines, openStore, type TestStore } from '../support/database.ts'
import { until } from '../support/until.ts'

function insertEvent(db: Queryable, subject: string, sequence: number, type: EventType = 'order.created') {
  return db.query(`insert into events (subject, sequence, type, data) values ($1, $2, $3, '{}')`, [
    subject,
    sequence,
    type,
  ])
}

let endpoints = 0
async function addEndpoint(db: Database, eventTypes: readonly EventType[] | null = null): Promise<string> {
  const id = `whk_${++endpoints}`
  await insertEndpoint(db, {
    id,
    url: 'https://example.com/',
    description: '',
    eventTypes,
    secret: newWebhookSecret(systemRandom),
  })
  return id
}

async function deliveriesOf(db: Database, endpointId: string) {
  const { rows } = await db.query<{ subject: string; position: string; state: string }>(
    'select subject, position, state from webhook_deliveries where endpoint_id = $1 order by position',
    [endpointId],
  )
  return rows.map(({ subject, position, state }) => `${position} ${subject} ${state}`)
}

for (const engine of engines) {
  describe(`the event log on the ${engine} engine`, () => {
    let store: TestStore
    before(async () => {
      store = await openStore(engine)
    })
    beforeEach(async () => {
      await store.db.query(
        'truncate events, event_tail, webhook_endpoints, webhook_deliveries, jobs restart identity cascade',
      )
    })
    after(() => store.drop())

    test('a thousand events placed by eight replicas at once have a place each, without a gap', async () => {
      const { db } = store
      const id = await addEndpoint(db)
      await db.query(`insert into events (subject, sequence, type, data)
        select 'ord_' || n % 100, n / 100, 'order.created', '{}' from generate_series(0, 999) n order by n`)
      const replicas = await Promise.all(Array.from({ length: 8 }, () => store.replica()))
      await Promise.all(replicas.map((replica) => pumpEvents(replica)))
      const events = await readEvents(db, 0n, 2000)
      assert.deepEqual(
        events.map(({ position }) => position),
        Array.from({ length: 1000 }, (_, n) => BigInt(n + 1)),
      )
      assert.equal((await deliveriesOf(db, id)).length, 1000)
      const bySubject = Map.groupBy(events, ({ subject }) => subject)
      for (const [subject, own] of bySubject)
        assert.deepEqual(
          own.map(({ sequence }) => sequence),
          [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
          subject,
        )
    })

    test('an endpoint hears of the types it asked for, from its registration on, and of nothing while it is disabled', async () => {
      const { db } = store
      await insertEvent(db, 'a', 1)
      await pumpEvents(db)
      const [all, some, off] = [
        await addEndpoint(db),
        await addEndpoint(db, ['order.confirmed']),
        await addEndpoint(db),
      ]
      await setEndpointState(db, off, 'disabled', 'test')
      await insertEvent(db, 'a', 2, 'order.confirmed')
      await insertEvent(db, 'b', 1)
      await pumpEvents(db)
      assert.deepEqual(await deliveriesOf(db, all), ['2 a pending', '3 b pending'])
      assert.deepEqual(await deliveriesOf(db, some), ['2 a pending'])
      assert.deepEqual(await deliveriesOf(db, off), [])
    })

    if (engine === 'postgres')
      test('a connection that is lost while events are placed costs nobody an answer', async () => {
        const { db } = store
        const id = await addEndpoint(db)
        await insertEvent(db, 'a', 1)
        await pumpEvents(db)
        await insertEvent(db, 'a', 2)
        const [pumping, looking] = [await store.replica(), await store.replica()]
        const placed = await db.transaction(async (tx) => {
          await tx.query('select from event_tail for update')
          const pumped = pumpEvents(pumping)
          const end = `
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like '%event_tail%'`
          await until(async () => (await looking.query(end)).rows.length === 1)
          return { pumped }
        })
        await placed.pumped
        assert.deepEqual(await deliveriesOf(db, id), ['1 a pending', '2 a pending'])
      })

    test('what was missed can be replayed: all that was never queued, or everything', async () => {
      const { db } = store
      const id = await addEndpoint(db)
      await insertEvent(db, 'a', 1)
      await pumpEvents(db)
      await db.query(`update webhook_deliveries set state = 'delivered'`)
      await setEndpointState(db, id, 'disabled', 'test')
      await insertEvent(db, 'a', 2)
      await pumpEvents(db)
      assert.equal(await replayed(db, id, 'dead'), 1)
      assert.deepEqual(await deliveriesOf(db, id), ['1 a delivered', '2 a pending'])
      assert.equal(await replayed(db, id, 'all'), 1)
      assert.deepEqual(await deliveriesOf(db, id), ['1 a pending', '2 a pending'])
      const [queue] = await claim(db, { kinds: [queueKind(id)], limit: 9, leaseSeconds: 60 })
      assert.equal(queue?.key, 'a')
    })

    test('what comes while a queue is being finished is not forgotten', async () => {
      const db = await store.replica()
      const pumping = await store.replica()
      const id = await addEndpoint(db)
      for (let round = 1; round <= 20; round++) {
        await insertEvent(db, 'a', round * 2)
        await pumpEvents(db)
        const [queue] = await claim(db, { kinds: [queueKind(id)], limit: 1, leaseSeconds: 60 })
        await db.query(`update webhook_deliveries set state = 'delivered'`)
        await insertEvent(db, 'a', round * 2 + 1)
        const [isFinished] = await Promise.all([finishQueue(db, queue!, queue!.payload), pumpEvents(pumping)])
        if (!isFinished) await release(db, queue!, 0)
        const [again] = await claim(db, { kinds: [queueKind(id)], limit: 1, leaseSeconds: 60 })
        assert.equal((await nextDeliveries(db, id, 'a', 9)).length, 1)
        assert.equal(again?.key, 'a', `round ${round}: something is pending, and nobody is called`)
        await db.query(`update webhook_deliveries set state = 'delivered'`)
        await finishQueue(db, again!, again!.payload)
      }
    })
  })
}

describe('a late commit', () => {
  test('is placed after those that overtook it: a reader who saw them misses nothing', async () => {
    const store = await openStore('postgres')
    const { db } = store
    const slow = await store.replica()
    const written = Promise.withResolvers<void>()
    const mayCommit = Promise.withResolvers<void>()
    const late = slow.transaction(async (tx) => {
      await insertEvent(tx, 'slow', 1)
      written.resolve()
      await mayCommit.promise
    })
    await written.promise
    await insertEvent(db, 'fast', 1)
    await pumpEvents(db)
    const seen = await readEvents(db, 0n, 9)
    assert.deepEqual(
      seen.map(({ subject }) => subject),
      ['fast'],
    )
    mayCommit.resolve()
    await late
    await pumpEvents(db)
    assert.deepEqual(
      (await readEvents(db, seen.at(-1)!.position, 9)).map(({ subject }) => subject),
      ['slow'],
    )
    assert.equal(await lastPosition(db), 2n)
    await store.drop()
  })
})

function replayed(db: Database, id: string, which: 'dead' | 'all'): Promise<number> {
  return db.transaction((tx) => replayDeliveries(tx, id, { after: 0n, through: 99n, which }))
}
