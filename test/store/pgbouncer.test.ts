import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { type Database, openDatabase } from '../../src/store/db.ts'
import { StoreFault } from '../../src/store/fault.ts'
import { migrate } from '../../src/store/migrate.ts'
import { statement } from '../../src/store/statement.ts'
import { ways } from '../shop/support.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { quiet } from '../support/database.ts'
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from '../support/pgbouncer.ts'
import { onServer } from '../support/postgres.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'

// The database as many have it: behind a PgBouncer in transaction mode, which gives each transaction any session that is free. Whatever a
// session remembers is then somebody else's: prepared statements, settings, locks that outlive a transaction.

const isMissing = !hasPgbouncer && process.env['TEST_PROXY'] !== 'required'

describe('behind PgBouncer in transaction mode', { skip: isMissing && 'PgBouncer is not installed' }, () => {
  let shop: TestShop
  let bouncer: Pgbouncer
  const opened: Database[] = []
  const lines: string[] = []

  before(async () => {
    shop = await startShop({ withoutWorker: true })
    bouncer = await startPgbouncer(shop.store.place.url!)
  })
  after(async () => {
    await Promise.all(opened.map((database) => database.close()))
    await shop.stop()
    await bouncer.stop()
  })

  async function open(): Promise<Database> {
    const log = createLog({ level: 'warn', clock: systemClock, write: (line) => void lines.push(line) })
    const database = await openDatabase({ ...quiet, log, dataDir: '', url: `${bouncer.url}?pgbouncer=true` })
    opened.push(database)
    return database
  }

  test('two replicas sell on every rail, and what one leaves the other delivers', async () => {
    const databases = [await open(), await open()]
    const replicas = await Promise.all(databases.map((database) => shop.replica({ database })))
    // One after the other at each: they share few sessions, and what is judged is not how many wait for one.
    const buyers = replicas.map(async (replica) => {
      for (const way of ways) {
        const pay = way.payer(shop, await fundedWallet(shop))
        const body = { itemId: 'keys:5', nickname: 'flaky_delivery' }
        const response = await pay(`${replica.url}/shop/${way.rail}/buy`, post(body))
        assert.ok([200, 202].includes(response.status), await response.clone().text())
        const { orderId } = (await response.json()) as { orderId: string }
        await until(async () => (await shop.service.checkout.orders.byId(orderId))?.status === 'confirmed')
      }
    })
    await Promise.all(buyers)
    await Promise.all(replicas.map((replica) => replica.stop()))
  })

  test('nothing is prepared in its sessions and nothing set, and a transaction has its limit all the same', async () => {
    const database = await open()
    const slow = statement<{ limit: string }>(
      `select current_setting('statement_timeout') as limit, pg_sleep($1)::text`,
    )
    const ask = () => database.transaction((tx) => tx.query(slow, [0]))
    const limits = await Promise.all(Array.from({ length: 12 }, ask))
    assert.ok(limits.every(({ rows }) => rows[0]?.limit === '5s'))
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const { rows } = await database.query<{ prepared: number; limit: string }>(
          `select count(*)::int as prepared, current_setting('statement_timeout') as limit from pg_prepared_statements`,
        )
        assert.deepEqual(rows, [{ prepared: 0, limit: '0' }])
      }),
    )
    assert.ok(lines.some((line) => line.includes('a statement may run for ever here')))
  })

  test('migrations run through it', async () => {
    const name = `${new URL(bouncer.url).pathname.slice(1)}_fresh`
    await onServer(shop.store.place.url!, (client) => client.query(`create database ${name}`))
    const url = bouncer.url.replace(/[^/]*$/, `${name}?pgbouncer=true`)
    const database = await openDatabase({ ...quiet, dataDir: '', url })
    await migrate(database)
    const { rows } = await database.query<{ orders: number }>('select count(*)::int as orders from orders')
    assert.deepEqual(rows, [{ orders: 0 }])
    await database.close()
    await onServer(shop.store.place.url!, (client) => client.query(`drop database ${name} with (force)`))
  })

  test('whoever does not say so in the URL is told to', async () => {
    await assert.rejects(openDatabase({ ...quiet, dataDir: '', url: bouncer.url }), (error) => {
      assert.ok(error instanceof StoreFault)
      assert.match(error.message, /is a PgBouncer; add pgbouncer=true/)
      return true
    })
  })
})
