import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import pg from 'pg'
import { createLog, silentLog } from '../../src/base/log.ts'
import { isProblem } from '../../src/base/problem.ts'
import { type Database, type DatabaseOptions, openDatabase } from '../../src/store/db.ts'
import { claim, enqueueLeased, leaseHeld } from '../../src/store/jobs.ts'
import { refuseUnsuitable } from '../../src/store/postgres.ts'
import { openStore, quiet, type TestStore } from '../support/database.ts'
import { until } from '../support/until.ts'

// What only a server with several connections can show.

let store: TestStore
let db: Database
before(async () => {
  store = await openStore('postgres')
  db = store.db
})
after(() => store.drop())

/** A socket in front of the server's that can be cut like a cable. */
async function tapWire(url: string): Promise<{ readonly url: string; cut(): void; close(): void }> {
  const { host, port } = new pg.Client({ connectionString: url })
  const folder = mkdtempSync(join(tmpdir(), 'sutler-wire-'))
  const cables = new Set<Socket>()
  const tap = createServer((near) => {
    const far = host.startsWith('/') ? connect(join(host, `.s.PGSQL.${port}`)) : connect(port, host)
    for (const end of [near, far]) cables.add(end.on('error', () => {}))
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((done) => tap.listen(join(folder, '.s.PGSQL.5432'), done))
  return {
    url: url.replace(/\?.*$/, '').concat(`?host=${folder}`),
    cut() {
      for (const cable of cables) cable.destroy()
      cables.clear()
    },
    close() {
      tap.close()
      rmSync(folder, { recursive: true })
    },
  }
}

const KILL_ME = 'select pg_terminate_backend(pg_backend_pid())'

test('a connection that is cut fails its query and nothing else', async () => {
  await assert.rejects(db.query(KILL_ME), (error) => isProblem(error, 'store_unavailable'))
  await db.ping()
})

test('a connection that breaks without a word fails its query and nothing else', async (t) => {
  const wire = await tapWire(store.place.url!)
  const far = await openDatabase({ ...quiet, dataDir: '', url: wire.url, poolSize: 1 })
  t.after(async () => {
    await far.close()
    wire.close()
  })
  const lost = far.query(`select pg_sleep(600), 'on the wire'`)
  await until(
    async () =>
      (
        await db.query(
          `select from pg_stat_activity where query like '%on the wire%' and state = 'active' and pid <> pg_backend_pid()`,
        )
      ).rowCount,
  )
  wire.cut()
  await assert.rejects(lost, (error) => isProblem(error, 'store_unavailable'))
  await far.ping()
})

test('a transaction whose connection is cut runs again on another', async () => {
  await db.query('create table cut (n integer)')
  let rounds = 0
  await db.transaction(async (tx) => {
    await tx.query('insert into cut values (1)')
    if (++rounds < 3) await tx.query(KILL_ME)
  })
  assert.equal(rounds, 3)
  assert.deepEqual((await db.query('select n from cut')).rows, [{ n: 1 }])
})

test('idle connections that are cut are replaced without a word to the callers', async (t) => {
  const lines: string[] = []
  const log = createLog({ level: 'warn', clock: quiet.clock, write: (line) => void lines.push(line) })
  const other = await openDatabase({ ...quiet, ...store.place, log })
  t.after(() => other.close())
  await Promise.all(Array.from({ length: 4 }, () => other.ping()))
  await db.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await until(() => other.status().connections === 0)
  await other.ping()
  assert.ok(lines.some((line) => line.includes('idle database connection lost')))
})

test('a server that is not there is a problem with a cause', async () => {
  const nobody = [`postgres://postgres@127.0.0.1:1/shop`, 'postgres://postgres@localhost/shop?host=/nowhere']
  for (const url of nobody) {
    await assert.rejects(openDatabase({ ...quiet, dataDir: '', url }), (error: Error) => {
      assert.ok(error.cause instanceof Error)
      return isProblem(error, 'store_unavailable')
    })
  }
})

test('an address that is neither a server nor a folder is refused', async () => {
  await assert.rejects(async () => openDatabase({ ...quiet, dataDir: '', url: 'mysql://shop' }), {
    code: 'database_url_invalid',
  })
})

test('the description names the server and hides the password', async (t) => {
  const url = store.place.url!.replace('postgres@', 'postgres:pa55word@')
  const other = await openDatabase({ ...quiet, dataDir: '', url })
  t.after(() => other.close())
  assert.match(other.description, /^PostgreSQL \d+.* at \S+\/sutler_test_\w+$/)
  assert.ok(!other.description.includes('pa55word'))
})

test('servers that are too old or read-only are refused, forgetful ones complained about', () => {
  const good = { version: '18.4', version_num: 180004, is_standby: false, fsync: 'on', synchronous_commit: 'on' }
  const warnings: string[] = []
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) }
  refuseUnsuitable(good, 'db/shop', log)
  assert.deepEqual(warnings, [])
  refuseUnsuitable({ ...good, fsync: 'off' }, 'db/shop', log)
  refuseUnsuitable({ ...good, synchronous_commit: 'off' }, 'db/shop', log)
  assert.equal(warnings.length, 2)
  const unsuitable = { code: 'server_unsuitable', message: /^db\/shop / }
  assert.throws(() => refuseUnsuitable({ ...good, version: '14.9', version_num: 140009 }, 'db/shop', log), unsuitable)
  assert.throws(() => refuseUnsuitable({ ...good, is_standby: true }, 'db/shop', log), unsuitable)
})

/** A database whose only connection is taken until `letGo`. */
async function openBusy(t: TestContext, overrides: Partial<DatabaseOptions>) {
  const busy = await openDatabase({ ...quiet, ...store.place, poolSize: 1, ...overrides })
  const gate = Promise.withResolvers<void>()
  const holder = busy.transaction(() => gate.promise)
  t.after(async () => {
    gate.resolve()
    await holder
    await busy.close()
  })
  await until(() => busy.status().idle === 0)
  return { busy, letGo: gate.resolve }
}

test('when all connections are busy, callers wait in a queue that has an end', async (t) => {
  const { busy, letGo } = await openBusy(t, { queueMax: 1 })
  const waiting = busy.ping()
  await assert.rejects(busy.ping(), (error) => isProblem(error, 'overloaded'))
  letGo()
  await waiting
})

test('nobody waits for a connection for ever', async (t) => {
  // Generous, because opening has the same limit and must not run into it on a busy machine.
  const { busy } = await openBusy(t, { waitMsMax: 3000 })
  await assert.rejects(busy.ping(), (error) => isProblem(error, 'store_unavailable'))
})

test('a statement that takes too long is stopped', async () => {
  const slow = db.transaction(async (tx) => {
    await tx.query(`set local statement_timeout = '20ms'`)
    await tx.query('select pg_sleep(600)')
  })
  await assert.rejects(slow, (error) => isProblem(error, 'store_unavailable'))
})

test('of two transactions that would break a rule together, one runs again', async () => {
  // Write skew: each sees one doctor on call beside itself and goes home. Only serializable transactions notice.
  await db.query(
    `create table doctors (name text primary key, on_call boolean); insert into doctors values ('a', true), ('b', true)`,
  )
  const replica = await store.replica()
  const bothHaveRead = Promise.withResolvers<void>()
  let readers = 0
  const goHome = (handle: Database, name: string) =>
    handle.transaction(
      async (tx) => {
        const { rows } = await tx.query<{ n: number }>('select count(*)::int as n from doctors where on_call')
        if (++readers >= 2) bothHaveRead.resolve()
        await bothHaveRead.promise
        if (rows[0]!.n > 1) await tx.query('update doctors set on_call = false where name = $1', [name])
      },
      { isolation: 'serializable' },
    )
  await Promise.all([goHome(db, 'a'), goHome(replica, 'b')])
  assert.equal(readers, 3)
  assert.equal((await db.query('select from doctors where on_call')).rowCount, 1)
})

test('a repeatable read transaction sees one moment', async () => {
  await db.query('create table moments (n integer)')
  const replica = await store.replica()
  const seen = await db.transaction(
    async (tx) => {
      const first = await tx.query('select n from moments')
      await replica.query('insert into moments values (1)')
      return [first.rowCount, (await tx.query('select n from moments')).rowCount]
    },
    { isolation: 'repeatable read', readOnly: true },
  )
  assert.deepEqual(seen, [0, 0])
})

test('while a holder changes its order, nobody takes over its job, though the lease has run out', async () => {
  await db.query('create table shelf (id text primary key, state text not null)')
  await db.query(`insert into shelf values ('o1', 'paid')`)
  const replica = await store.replica()
  const job = await enqueueLeased(db, { kind: 'shelf', key: 'o1', leaseSeconds: 0 })
  const take = () => claim(replica, { kinds: ['shelf'], limit: 1, leaseSeconds: 60 })
  await db.transaction(async (tx) => {
    const held = leaseHeld({ kind: '$2', key: 'shelf.id', lease: '$3' })
    const { rowCount } = await tx.query(`update shelf set state = 'sent' where id = $1 and ${held}`, [
      'o1',
      'shelf',
      job!.lease,
    ])
    assert.equal(rowCount, 1)
    assert.deepEqual(await take(), [])
  })
  assert.equal((await take()).length, 1)
})
