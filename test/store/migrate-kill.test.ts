import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDatabase } from '../../src/store/db.ts'
import { migrate, pendingMigrations } from '../../src/store/migrate.ts'
import { startChild } from '../support/child.ts'
import { openStore, quiet } from '../support/database.ts'
import { createDataDir } from '../support/embedded.ts'
import { until } from '../support/until.ts'

const migrator = join(import.meta.dirname, 'children/migrator.ts')

/** One migration that stops in its middle for as long as the gate is shut. */
function folderWith(t: TestContext, gate: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sutler-migrations-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(
    join(folder, '9101_half.sql'),
    `create table half (id integer); insert into half values (1); ${gate}; create table whole (id integer);`,
  )
  return folder
}

test('embedded: a migration killed half way is undone, and the next start completes it', async (t) => {
  const dataDir = await createDataDir()
  t.after(() => rmSync(dataDir, { recursive: true }))
  // The engine tells that it is half way by writing a file; then it counts for hours, unless the gate is open.
  const folder = folderWith(
    t,
    `copy (select 1) to '/pglite/data/half-way';
     select count(*) from generate_series(1, (select steps from gate))`,
  )
  let db = await openDatabase({ ...quiet, dataDir })
  await db.query('create table gate as select 1000000000000 as steps')
  await db.close()

  const child = startChild(migrator, [JSON.stringify({ dataDir }), folder], { test: t })
  await until(() => existsSync(join(dataDir, 'pg/half-way')))
  await child.kill('SIGKILL')

  db = await openDatabase({ ...quiet, dataDir })
  assert.deepEqual(await pendingMigrations(db, { folder }), ['9101_half.sql'])
  assert.deepEqual((await db.query(`select to_regclass('half') as half`)).rows, [{ half: null }])
  await db.query('update gate set steps = 1')
  assert.deepEqual(await migrate(db, { folder }), ['9101_half.sql'])
  assert.deepEqual((await db.query('select id from half left join whole using (id)')).rows, [{ id: 1 }])
  await db.close()
})

test('postgres: a migration killed half way is undone, and the next start completes it', async (t) => {
  const store = await openStore('postgres')
  t.after(() => store.drop())
  const { db } = store
  const folder = folderWith(t, 'lock table gate in access exclusive mode')
  await db.query('create table gate ()')
  const watcher = await store.replica()

  await db.transaction(async (tx) => {
    await tx.query('lock table gate in access exclusive mode')
    const child = startChild(migrator, [JSON.stringify(store.place), folder], { test: t })
    const isWaiting = async () =>
      (await watcher.query(`select from pg_locks where relation = 'gate'::regclass and not granted`)).rowCount
    await until(isWaiting)
    await child.kill('SIGKILL')
  })

  assert.deepEqual(await migrate(db, { folder }), ['9101_half.sql'])
  assert.deepEqual((await db.query('select id from half left join whole using (id)')).rows, [{ id: 1 }])
})
