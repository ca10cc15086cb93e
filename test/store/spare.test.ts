import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedSandboxGame } from '../../src/sandbox/players.ts'
import type { Database } from '../../src/store/db.ts'
import { openStore } from '../support/database.ts'

// What a test leaves behind in its database must not reach the next one.

async function nameOf(db: Database): Promise<string> {
  const { rows } = await db.query<{ name: string }>('select current_database() as name')
  return rows[0]!.name
}

/** More than tests of one process leave to each other. */
const LEFT_MAX = 6

/** Whether the next test gets the database in which a test has done this, and the rows it then finds. */
async function next(deed: (db: Database) => Promise<unknown>): Promise<{ isSame: boolean; items: number }> {
  const store = await openStore('postgres')
  const name = await nameOf(store.db)
  await deed(store.db)
  await store.drop()
  // Tests of other files in this process may have left databases as well, and theirs come first.
  const opened = [await openStore('postgres')]
  while (opened.length < LEFT_MAX && (await nameOf(opened.at(-1)!.db)) !== name)
    opened.push(await openStore('postgres'))
  const last = opened.at(-1)!
  const { rows } = await last.db.query<{ items: number }>('select count(*)::int as items from items')
  const isSame = (await nameOf(last.db)) === name
  for (const one of opened) await one.drop()
  return { isSame, items: rows[0]!.items }
}

test('a database that had rows only is empty for the next test', async () => {
  assert.deepEqual(await next(seedSandboxGame), { isSame: true, items: 0 })
})

for (const [what, deed] of [
  ['a table was made', 'create table leftover (n integer)'],
  ['a table was dropped', 'drop table discounts cascade'],
  ['a guard was switched off', 'alter table audit disable trigger all'],
  ['a migration was forgotten', 'delete from schema_migrations where ctid = (select min(ctid) from schema_migrations)'],
] as const)
  test(`one in which ${what} is for nobody else`, async () => {
    assert.deepEqual(await next((db) => db.query(deed)), { isSame: false, items: 0 })
  })

test('nor is one that somebody else was told of', async () => {
  const store = await openStore('postgres')
  const name = await nameOf(store.db)
  assert.match(store.place.url!, new RegExp(name))
  await store.drop()
  const after = await openStore('postgres')
  assert.notEqual(await nameOf(after.db), name)
  await after.drop()
})
