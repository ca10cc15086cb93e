import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import { isProblem } from '../../../src/base/problem.ts'
import { noWaypoint, type Waypoint, type WaypointName } from '../../../src/base/waypoint.ts'
import type { Service } from '../../../src/service/service.ts'
import { type Database, type DatabaseOptions, openDatabase } from '../../../src/store/db.ts'
import { migrate } from '../../../src/store/migrate.ts'
import { said } from '../../checkout/counter.ts'
import { transfers } from '../../crash/flows.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { openStore, quiet, type TestStore } from '../../support/database.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { type QuietWire, startQuietWire } from './quiet-wire.ts'

// PostgreSQL behind a network that swallows packets: nothing is reset, so only a clock of our own can tell.

/** Long enough for any statement on a busy machine, short enough to wait for. */
const STATEMENT_MS_MAX = 1_000
const POOL_SIZE = 6

/** So long a new connection may take on a busy machine. */
const PATIENT = { waitMsMax: 60_000, doubtMsMax: 30_000 }

async function openThrough(wire: QuietWire, own: Partial<DatabaseOptions> = {}): Promise<Database> {
  const db = await openDatabase({
    ...quiet,
    dataDir: '',
    url: wire.url,
    poolSize: POOL_SIZE,
    statementMsMax: STATEMENT_MS_MAX,
    waitMsMax: 5_000,
    ...own,
  })
  // All connections are open, and idle.
  await Promise.all(Array.from({ length: POOL_SIZE }, () => db.query('select pg_sleep(0.05)')))
  return db
}

const isUnavailable = (error: unknown) => isProblem(error, 'store_unavailable')

describe('connections that go silent', () => {
  let store: TestStore
  before(async () => {
    store = await openStore('postgres')
  })
  after(() => store.drop())

  async function through(
    t: TestContext,
    own?: Partial<DatabaseOptions>,
  ): Promise<{ readonly wire: QuietWire; readonly db: Database }> {
    const wire = await startQuietWire(store.place.url!)
    const db = await openThrough(wire, own)
    t.after(async () => {
      // First: nobody waits for those that are still being asked for a sign of life.
      wire.close()
      await db.close()
    })
    return { wire, db }
  }

  test('C-15: all of them together cost one time-out, and the next query is answered', async (t) => {
    const { wire, db } = await through(t, PATIENT)
    assert.equal(db.status().idle, POOL_SIZE)
    wire.hush()
    await assert.rejects(db.ping(), isUnavailable)
    for (let i = 0; i < 2 * POOL_SIZE; i++) await db.ping()
  })

  test('a transaction that met the silence runs again, on a connection that answers', async (t) => {
    const { wire, db } = await through(t, PATIENT)
    await db.query('create table silence (round integer)')
    let rounds = 0
    await db.transaction(async (tx) => {
      await tx.query('insert into silence values ($1)', [++rounds])
      if (rounds === 1) wire.hush()
    })
    assert.equal(rounds, 2)
    // The first round ends on the server with its connection, and was never committed.
    assert.deepEqual((await db.query('select round from silence')).rows, [{ round: 2 }])
  })

  test('while nobody new is heard either, every query fails and none waits for ever; then all is well again', async (t) => {
    const { wire, db } = await through(t)
    wire.hush()
    wire.hushNew()
    for (let i = 0; i < 3; i++) await assert.rejects(db.ping(), isUnavailable)
    const queued = await Promise.allSettled(Array.from({ length: 4 * POOL_SIZE }, () => db.ping()))
    assert.ok(queued.every((one) => one.status === 'rejected' && isUnavailable(one.reason)))
    wire.speak()
    await until(() =>
      db.ping().then(
        () => true,
        () => false,
      ),
    )
    for (let i = 0; i < 2 * POOL_SIZE; i++) await db.ping()
  })

  test('a store that is silent when it is opened is a problem with a cause, and so is one that is closed', async () => {
    const wire = await startQuietWire(store.place.url!)
    const db = await openThrough(wire)
    wire.hush()
    await db.close()
    wire.hushNew()
    const opening = openDatabase({ ...quiet, dataDir: '', url: wire.url, waitMsMax: 500 })
    await assert.rejects(opening, (error: Error) => error.cause instanceof Error && isUnavailable(error))
    wire.close()
  })

  test('a statement that is merely slow is refused by the server, and its connection is kept', async (t) => {
    const { wire, db } = await through(t)
    const { opened } = wire
    for (let i = 0; i < 3; i++) await assert.rejects(db.query('select pg_sleep(60)'), isUnavailable)
    for (let i = 0; i < 2 * POOL_SIZE; i++) await db.ping()
    assert.equal(wire.opened, opened)
  })

  test('a migration may take longer than a request', async (t) => {
    const { db } = await through(t)
    const folder = mkdtempSync(join(tmpdir(), 'sutler-slow-'))
    t.after(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, '9999_slow.sql'), `select pg_sleep(${(3 * STATEMENT_MS_MAX + 1_000) / 1_000})`)
    assert.deepEqual(await migrate(db, { folder }), ['9999_slow.sql'])
  })
})

describe('a shop whose store goes silent', () => {
  let shop: TestShop
  let waypoint: Waypoint = noWaypoint
  let wire: QuietWire
  let database: Database
  let replica: Service
  before(async () => {
    shop = await startShop({
      // The same payment is shown again and again until the store is back.
      env: { SUTLER_RATE_REPLAY: '100000' },
      configure: (config) => ({ ...config, limits: { ...config.limits, leaseSeconds: 1, waitMsMax: 2_500 } }),
      // Only the replica that was cut off may finish what it began.
      withoutWorker: true,
    })
  })
  beforeEach(async () => {
    wire = await startQuietWire(shop.store.place.url!)
    database = await openThrough(wire, { waitMsMax: 2_000 })
    replica = await shop.replica({ database, withoutWorker: false, waypoint: (name) => waypoint(name) })
  })
  after(() => shop.stop())

  function when(name: WaypointName, act: () => void): void {
    waypoint = (reached) => {
      if (reached !== name) return
      waypoint = noWaypoint
      act()
    }
  }
  function silence(): void {
    wire.hush()
    wire.hushNew()
  }
  const isAlive = async () => assert.equal((await fetch(`${replica.url}/health/live`)).status, 200)

  // Money that moves when the shop sends it, and money that has moved already.
  for (const rail of [x402UnderTest, mppPushUnderTest]) {
    async function prepare() {
      const buyer = await fundedWallet(shop)
      const url = `${replica.url}/agentic/${rail.rail}/buy`
      const body = { saleId: 392, beneficiary: buyer.address }
      const credential = await rail.pay(shop, buyer, await fetch(url, post(body)))
      const send = () => fetch(url, post(body, { [rail.header]: credential }))
      return { buyer, send }
    }
    /** The same payment again, when the store is back, until it is answered for good; it was taken once. */
    async function assertServed({ buyer, send }: Awaited<ReturnType<typeof prepare>>): Promise<void> {
      wire.speak()
      await until(async () => (await send()).status === 200)
      assert.equal((await transfers(shop, rail, buyer.address, shop.config.x402!.payTo)).length, 1)
      await replica.stop()
      await database.close()
      wire.close()
    }

    test(`${rail.name}: before the order, nothing is taken; the process lives, and sells when it is back`, async () => {
      const purchase = await prepare()
      silence()
      const answering = purchase.send()
      await isAlive()
      const answer = await answering
      const { code, retry } = await said(answer)
      // Money that its payer has moved is never answered with a server's error.
      const refusal = rail.name === 'mpp push' ? [202, 'payment_pending'] : [503, 'store_unavailable']
      assert.deepEqual([answer.status, code, retry.action], [...refusal, 'wait_same_credential'])
      await isAlive()
      assert.equal((await fetch(`${replica.url}/health/ready`)).status, 503)
      await assertServed(purchase)
    })

    for (const point of ['order.opening', 'order.opened', 'settle.done'] as const)
      test(`${rail.name}: from ${point} on it is 202 or done, never a 5xx`, async () => {
        const purchase = await prepare()
        when(point, silence)
        const answer = await purchase.send()
        assert.ok(answer.status === 202 || answer.status === 200, `answered ${answer.status}`)
        await isAlive()
        await assertServed(purchase)
      })
  }
})
