import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { silentLog } from '../../src/base/log.ts'
import { copyDatabase } from '../../src/store/copy.ts'
import type { Database } from '../../src/store/db.ts'
import { enqueue } from '../../src/store/jobs.ts'
import { migrate } from '../../src/store/migrate.ts'
import { engines, openStore, type TestStore } from '../support/database.ts'

// Everything that has ever gone wrong in somebody's copy: children named before their parents, big numbers, nulls of two kinds,
// times with microseconds, generated and identity columns, more rows than one batch, a name that needs quotes.
const SCHEMA = `
  create table "a Child" (
    id bigint generated always as identity primary key,
    parent text not null references parents,
    grandchild_of integer references zz_roots
  );
  create table many (n integer primary key, twice integer generated always as (n * 2) stored);
`
const PARENTS = `
  create table zz_roots (id integer primary key);
  create table parents (
    id text primary key,
    root integer references zz_roots,
    amount numeric(78, 0),
    at timestamptz,
    document jsonb,
    bytes bytea,
    list text[]
  );
`
const ROWS = `
  insert into zz_roots values (1), (2);
  insert into parents values
    ('full', 2, 115792089237316195423570985008687907853269984665640564039457584007913129639935, '2026-02-28 23:59:59.123456+02',
     '{"a": [1, null, "''\\\\ \\"🗡"]}', '\\x00ff5c', array['a', null, 'b,"c"', '']),
    ('json null', null, 0, 'infinity', 'null', '', '{}'),
    ('sql null', null, null, null, null, null, null),
    ('', null, null, null, '""', null, null);
  insert into "a Child" (parent, grandchild_of) values ('full', 1), ('', null);
  select nextval(pg_get_serial_sequence('"a Child"', 'id'));
  insert into many select generate_series(1, 2500);
`

const folder = mkdtempSync(join(tmpdir(), 'sutler-copy-'))
writeFileSync(join(folder, '9201_parents.sql'), PARENTS)
writeFileSync(join(folder, '9202_children.sql'), SCHEMA)

const stores = new Map<string, TestStore>()
before(async () => {
  for (const engine of engines) {
    const store = await openStore(engine)
    await migrate(store.db, { folder })
    stores.set(engine, store)
  }
})
after(async () => {
  for (const store of stores.values()) await store.drop()
  rmSync(folder, { recursive: true })
})
const dbOf = (engine: string) => stores.get(engine)!.db

async function empty(db: Database): Promise<void> {
  await db.query('truncate "a Child", parents, zz_roots, many, jobs restart identity')
}

async function contents(db: Database): Promise<unknown[]> {
  return db.transaction(async (tx) => {
    await tx.query(`set local timezone = 'UTC'`)
    const tables: unknown[] = []
    for (const table of ['zz_roots', 'parents', '"a Child"', 'many', 'jobs']) {
      tables.push((await tx.query(`select t::text from ${table} t order by 1`)).rows)
    }
    return tables
  })
}

for (const [from, to] of [
  ['embedded', 'postgres'],
  ['postgres', 'embedded'],
] as const) {
  test(`everything arrives from ${from} in ${to}, and life goes on there`, async () => {
    const [source, target] = [dbOf(from), dbOf(to)]
    await empty(source)
    await empty(target)
    // Only the embedded engine has one session for all; a copy must not depend on the zone of its reader.
    if (from === 'embedded') await source.query(`set timezone = 'Asia/Kathmandu'`)
    await source.query(ROWS)
    await enqueue(source, { kind: 'copy', key: 'a' })
    const { rows } = await copyDatabase(source, target, silentLog)
    assert.equal(rows, 2 + 4 + 2 + 2500 + 1)
    assert.deepEqual(await contents(target), await contents(source))
    const next = await target.query(`insert into "a Child" (parent) values ('full') returning id`)
    assert.deepEqual(next.rows, [{ id: '4' }], 'the sequence goes on where it was')
  })
}

test('a target that holds anything is refused and stays as it is', async () => {
  const [source, target] = [dbOf('embedded'), dbOf('postgres')]
  await empty(target)
  await enqueue(target, { kind: 'copy', key: 'mine' })
  const before = await contents(target)
  await assert.rejects(copyDatabase(source, target, silentLog), { code: 'copy_refused', message: /not empty: jobs/ })
  assert.deepEqual(await contents(target), before)
})

test('a value that changes on the way is noticed, and the target stays empty', async (t) => {
  const [source, target] = [dbOf('embedded'), dbOf('postgres')]
  await empty(source)
  await empty(target)
  await source.query(ROWS)
  await target.query(`
    create function spoil() returns trigger language plpgsql as $$ begin new.amount := 1; return new; end $$;
    create trigger spoil before insert on parents for each row execute function spoil()`)
  t.after(() => target.query('drop function spoil cascade'))
  await assert.rejects(copyDatabase(source, target, silentLog), {
    code: 'copy_refused',
    message: /parents is not the same/,
  })
  assert.deepEqual(await contents(target), [[], [], [], [], []])
})

test('tables that refer to each other in a circle are refused by name', async (t) => {
  const [source, target] = [dbOf('embedded'), dbOf('postgres')]
  await empty(target)
  for (const db of [source, target]) {
    await db.query(
      'create table hen (id integer primary key); create table egg (id integer primary key references hen)',
    )
    await db.query('alter table hen add foreign key (id) references egg')
    t.after(() => db.query('drop table hen, egg cascade'))
  }
  await assert.rejects(copyDatabase(source, target, silentLog), { code: 'copy_refused', message: /circle: egg, hen/ })
})

test('databases of different versions are refused', async (t) => {
  const [source, target] = [dbOf('embedded'), dbOf('postgres')]
  await source.query(`insert into schema_migrations (name, sha256) values ('9999_newer.sql', '')`)
  t.after(() => source.query(`delete from schema_migrations where name = '9999_newer.sql'`))
  await assert.rejects(copyDatabase(source, target, silentLog), { code: 'copy_refused', message: /migrations/ })
})
