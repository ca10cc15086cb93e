import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Database } from './db.ts'
import { StoreFault } from './fault.ts'
import { migrate, pendingMigrations } from './migrate.ts'

type MigrateFixture = { readonly db: Database; replica(): Promise<Database> }

/** Runs on a database that has the real migrations; those made up here are numbered from 9000. */
export function migrateCases(fixture: () => MigrateFixture): void {
  test('nothing is pending after the real migrations, and running them again does nothing', async () => {
    assert.deepEqual(await pendingMigrations(fixture().db), [])
    assert.deepEqual(await migrate(fixture().db), [])
  })

  test('files run in the order of their numbers, each once', async (t) => {
    const folder = folderOf(t, {
      '9002_fill.sql': 'insert into fruits values (1);',
      '9001_fruits.sql': 'create table fruits (id integer primary key); create index on fruits (id);',
      'notes.txt': 'not a migration',
    })
    assert.deepEqual(await pendingMigrations(fixture().db, { folder }), ['9001_fruits.sql', '9002_fill.sql'])
    assert.deepEqual(await migrate(fixture().db, { folder }), ['9001_fruits.sql', '9002_fill.sql'])
    assert.deepEqual(await migrate(fixture().db, { folder }), [])
    assert.deepEqual((await fixture().db.query('select id from fruits')).rows, [{ id: 1 }])
  })

  test('replicas that start together run each migration once', async (t) => {
    const folder = folderOf(t, {
      '9011_once.sql': 'create table once (n integer); insert into once values (1);',
      '9012_twice.sql': 'insert into once values (2);',
    })
    const replicas = await Promise.all(Array.from({ length: 6 }, () => fixture().replica()))
    // Also the table that keeps the names is made by whoever comes first.
    await fixture().db.query('alter table schema_migrations rename to schema_migrations_kept')
    const ran = await Promise.all(replicas.map((replica) => migrate(replica, { folder })))
    assert.deepEqual(ran.flat().sort(), ['9011_once.sql', '9012_twice.sql'])
    assert.deepEqual((await fixture().db.query('select n from once order by n')).rows, [{ n: 1 }, { n: 2 }])
    await fixture().db.query(
      'drop table schema_migrations; alter table schema_migrations_kept rename to schema_migrations',
    )
  })

  test('a migration that fails leaves nothing behind and may be corrected', async (t) => {
    const broken = folderOf(t, { '9021_half.sql': 'create table half (id integer); select 1 / 0;' })
    await assert.rejects(migrate(fixture().db, { folder: broken }), { code: '22012' })
    assert.deepEqual(await pendingMigrations(fixture().db, { folder: broken }), ['9021_half.sql'])
    const corrected = folderOf(t, { '9021_half.sql': 'create table half (id integer);' })
    assert.deepEqual(await migrate(fixture().db, { folder: corrected }), ['9021_half.sql'])
  })

  test('a file that was changed after it ran is refused by name', async (t) => {
    const folder = folderOf(t, { '9031_fixed.sql': 'create table fixed (id integer);' })
    await migrate(fixture().db, { folder })
    writeFileSync(join(folder, '9031_fixed.sql'), 'create table fixed (id bigint);')
    const isRefusal = (error: unknown) =>
      error instanceof StoreFault && error.code === 'migration_changed' && error.message.includes('9031_fixed.sql')
    await assert.rejects(migrate(fixture().db, { folder }), isRefusal)
    await assert.rejects(pendingMigrations(fixture().db, { folder }), isRefusal)
  })

  test('a store that a newer version has changed is refused by name, before anything is done to it', async (t) => {
    const newer = folderOf(t, {
      '9041_now.sql': 'create table now_made ();',
      '9042_later.sql': 'create table later ();',
    })
    await migrate(fixture().db, { folder: newer })
    const older = folderOf(t, { '9041_now.sql': 'create table now_made ();', '9043_own.sql': 'create table own ();' })
    const isRefusal = (error: unknown) =>
      error instanceof StoreFault && error.code === 'schema_newer' && error.message.includes('9042_later.sql')
    await assert.rejects(migrate(fixture().db, { folder: older }), isRefusal)
    await assert.rejects(pendingMigrations(fixture().db, { folder: older }), isRefusal)
    await assert.rejects(pendingMigrations(fixture().db), isRefusal)
    await fixture().db.query(`delete from schema_migrations where name > '9'`)
  })
}

function folderOf(t: { after(fn: () => void): void }, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'sutler-migrations-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}
