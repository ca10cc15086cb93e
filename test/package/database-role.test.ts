import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { migrate } from '../../src/store/migrate.ts'
import { root } from '../cli/sutler.ts'
import { buy } from '../operations/desk.ts'
import { fundedWallet } from '../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { storeIn } from '../support/database.ts'
import { onServer, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startShop } from '../support/shop.ts'

// What the image of compose.yaml does with its init file, on a server of our own: roles belong to all of a server.

const skip = spawnSync('psql', ['--version']).status !== 0 && 'psql is not installed'
const PASSWORD = "it's $1 of \\ our own"

let server: PostgresServer
/** A database by the shop's role. */
const asShop = (name: string) => server.url.replace('postgres@localhost/postgres', `sutler@localhost/${name}`)

if (!skip) {
  before(async () => {
    server = await startPostgres()
    await onServer(server.url, (client) => client.query('create table told (secret text)'))
    // As its entry point does.
    const args = ['--set=ON_ERROR_STOP=1', '--no-psqlrc', '--file', join(root, 'deploy/postgres.sql'), server.url]
    execFileSync('psql', args, { env: { ...process.env, POSTGRES_PASSWORD: PASSWORD } })
  })
  after(() => server.stop())
}

test("a shop fills and sells from a database by the role of deploy/postgres.sql, and can tell the server's history", {
  skip,
}, async () => {
  const store = await storeIn({ url: asShop('sutler'), drop: async () => {} })
  await migrate(store.db)
  const { rows } = await store.db.query('select store_lineage() is not null as told')
  assert.deepEqual(rows, [{ told: true }])
  const shop = await startShop({ store })
  try {
    for (const rail of [x402UnderTest, mppPullUnderTest]) {
      const { response } = await buy(shop, rail, await fundedWallet(shop))
      assert.equal(response.status, 200, await response.text())
    }
  } finally {
    await shop.stop()
  }
})

test('that role is no superuser, and can do nothing outside the schema of its own database', { skip }, async () => {
  const refusedWith = async (url: string, sql: string) =>
    onServer(url, (client) => client.query(sql)).then(
      () => 'done',
      (error: unknown) => (error instanceof pg.DatabaseError ? error.code : String(error)),
    )
  for (const [url, sql] of [
    [asShop('postgres'), 'select secret from told'],
    [asShop('template1'), 'select 1'],
    [asShop('sutler'), 'create schema another'],
    [asShop('sutler'), 'create role another'],
    [asShop('sutler'), 'create database another'],
    [asShop('sutler'), `alter role sutler superuser`],
    [asShop('sutler'), `copy pg_class to program 'cat'`],
    [asShop('sutler'), 'select rolpassword from pg_authid'],
  ] as const)
    assert.equal(await refusedWith(url, sql), '42501', sql)
  const { rows } = await onServer(server.url, (client) =>
    client.query(
      `select rolname, rolsuper, left(rolpassword, 5) as password from pg_authid where rolcanlogin order by 1`,
    ),
  )
  assert.deepEqual(rows, [
    { rolname: 'postgres', rolsuper: true, password: null },
    { rolname: 'sutler', rolsuper: false, password: 'SCRAM' },
  ])
})
