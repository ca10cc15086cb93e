import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { Clock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { seedSandboxGame } from '../../src/sandbox/players.ts'
import type { Backend } from '../../src/store/backend.ts'
import { createDatabase, type Database } from '../../src/store/db.ts'
import { type Line, WireSocket } from '../../src/store/embedded/bridge.ts'
import { joinedBytes } from '../../src/store/embedded/bytes.ts'
import { acceptStore } from '../../src/store/history.ts'
import { migrate } from '../../src/store/migrate.ts'
import { createConnectionPool } from '../../src/store/pool.ts'
import { gateOf } from './gate.ts'
import type { SimStore } from './store.ts'
import { gatedDatabase } from './store-gate.ts'

/** While the engine works, the process clock is the store's own and nobody else's, whoever asked. */
export type StoreTime = { isAsked: number }

const VACUUM_EVERY = 20
const MIGRATIONS = join(import.meta.dirname, '../../src/store/migrations')
/** Which engine it is, beside the schema. */
const PGLITE = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8').match(
  /"@electric-sql\/pglite": "[^"]+"/,
)![0]

/** On an engine in this thread and in memory. */
export async function openMemoryStore(time: StoreTime, furnish: (db: Database) => Promise<void>): Promise<SimStore> {
  const engine = await PGlite.create({ loadDataDir: new Blob([await template()]) })
  const db = overWire(engine, time)
  // A plan that depends on how often a statement was asked would make a seed depend on the seeds before it.
  await db.query('set plan_cache_mode = force_generic_plan')
  await db.query('set synchronous_commit = off')
  await db.query('set track_activities = off')
  await db.query('set update_process_title = off')
  await db.query('set track_counts = off')
  for (const { name } of (await db.query<{ name: string }>(TABLES)).rows)
    await db.query(`alter table ${name} set unlogged`)
  await seedSandboxGame(db)
  await furnish(db)
  const { wipe, vacuum, bare, backUp, restore } = await rememberAll(db)
  let resets = 0
  return {
    db,
    bare,
    async reset() {
      await db.query(wipe)
      // Dead rows would slow down every later universe, and change in which order rows are found.
      if (++resets % VACUUM_EVERY === 0) await db.query(vacuum)
    },
    async backUp() {
      await db.query(backUp)
    },
    async restore(at) {
      await db.query(restore)
      await sayRestored(db, at)
    },
    open: ({ sim, actor, wires, mishap, memory }) =>
      gatedDatabase({ sim, db, outside: db, bare, gate: gateOf(sim, actor, wires, mishap), memory }),
    hangUp: async () => {},
    close: () => db.close(),
  }
}

/**
 * An engine that has only its schema, as a file: to make one takes eight seconds of CPU, to read it half of one. Kept for as long as no
 * migration and no engine changes.
 */
async function template(): Promise<Uint8Array<ArrayBuffer>> {
  const migrations = globSync('*.sql', { cwd: MIGRATIONS }).sort()
  const digest = createHash('sha256').update(PGLITE)
  for (const file of migrations) digest.update(readFileSync(join(MIGRATIONS, file)))
  const path = join(tmpdir(), `sutler-simulate-${digest.digest('hex').slice(0, 16)}.tar`)
  if (!existsSync(path)) {
    const engine = await PGlite.create()
    await migrate(overWire(engine, { isAsked: 0 }))
    const dump = await engine.dumpDataDir('none')
    // Under another name first: two processes may be making it.
    writeFileSync(`${path}.${process.pid}`, Buffer.from(await dump.arrayBuffer()))
    renameSync(`${path}.${process.pid}`, path)
    await engine.close()
  }
  return new Uint8Array(readFileSync(path))
}

function overWire(engine: PGlite, time: StoreTime): Database {
  let onBytes: (bytes: Uint8Array) => void = () => {}
  const line: Line = {
    open(answer) {
      onBytes = answer
      return 1
    },
    send(_connection, bytes) {
      const chunks: Uint8Array[] = []
      time.isAsked++
      void engine
        .execProtocolRawStream(bytes, { syncToFs: false, onRawData: (chunk) => void chunks.push(chunk.slice()) })
        .finally(() => time.isAsked--)
        .then(() => onBytes(joinedBytes(chunks)))
    },
    hangUp() {},
  }
  const stream = () => new WireSocket(async () => line)
  const pool = createConnectionPool(
    { max: 1, user: 'postgres', database: 'postgres', ssl: false, stream } as never,
    silentLog,
  )
  const backend: Backend = {
    engine: 'embedded',
    keepsSessions: true,
    hosts: 1,
    description: 'memory',
    pool,
    ensureRoom() {},
    freeBytes: () => null,
    close: () => pool.end(),
  }
  const clock: Clock = { now: () => Date.now(), sleep: () => new Promise<void>(setImmediate) }
  return createDatabase(backend, { dataDir: '', log: silentLog, clock, random: { bytes: (n) => new Uint8Array(n) } })
}

type Copies = {
  readonly wipe: string
  readonly vacuum: string
  readonly backUp: string
  readonly restore: string
  readonly bare: ReadonlySet<string>
}

/** Parents after their children, so that nothing has to be switched off to empty them: every switch makes the engine plan each statement anew. */
const TABLES = `
  with recursive tables as (
    select c.oid, c.relname::text as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> 'schema_migrations'
  ), depths as (
    select oid, name, 0 as depth from tables
    union
    select t.oid, t.name, d.depth + 1
    from depths d
    join pg_constraint k on k.conrelid = d.oid and k.contype = 'f' and k.confrelid <> d.oid
    join tables t on t.oid = k.confrelid
  )
  select name from depths group by name order by max(depth), name`

/** Whoever wipes the store may empty the log that nobody else may. */
const WIPING = `
  create or replace trigger audit_kept before update or delete on audit for each row
  when (coalesce(current_setting('simulate.wiping', true), '') <> 'on') execute function keep_audit()`

/** Copies every table that has rows, and returns the statements that bring the store back to them: nine milliseconds, where `truncate` takes sixty. */
export async function rememberAll(db: Database): Promise<Copies> {
  const names = async (query: string) => (await db.query<{ name: string }>(query)).rows.map(({ name }) => name)
  const tables = await names(TABLES)
  const sequences = await names(`select sequencename as name from pg_sequences where schemaname = 'public' order by 1`)
  await db.query(WIPING)
  await db.query('create schema founded')
  await db.query('create schema backup')
  const filled: string[] = []
  for (const table of tables) {
    await db.query(`create table backup.${table} as select * from ${table} limit 0`)
    const { rows } = await db.query<{ count: number }>(`select count(*)::int as count from ${table}`)
    if (rows[0]!.count === 0) continue
    filled.push(table)
    await db.query(`create table founded.${table} as select * from ${table}`)
  }
  const from = (schema: string, some: readonly string[]) =>
    some.map((table) => `insert into ${table} overriding system value select * from ${schema}.${table}`)
  const replaced = (...statements: readonly string[]) =>
    [
      'set session_replication_role = replica',
      ...tables.map((table) => `delete from ${table}`),
      ...statements,
      'set session_replication_role = origin',
    ].join(';\n')
  return {
    wipe: [
      "set simulate.wiping = 'on'",
      ...tables.map((table) => `delete from ${table}`),
      ...sequences.map((sequence) => `select setval('${sequence}', 1, false)`),
      ...from('founded', filled.toReversed()),
      "set simulate.wiping = 'off'",
    ].join(';\n'),
    vacuum: `vacuum (process_toast false, skip_database_stats) ${tables.join(', ')}`,
    backUp: tables
      .map((table) => `delete from backup.${table}; insert into backup.${table} select * from ${table}`)
      .join(';\n'),
    restore: replaced(...from('backup', tables)),
    bare: new Set(tables.filter((table) => !filled.includes(table))),
  }
}

/** What an operator says after a restore, at that moment of the universe. */
export async function sayRestored(db: Database, at: number): Promise<void> {
  await acceptStore(db, { isComplete: false })
  await db.query('update store_state set restored_at = $1', [new Date(at)])
}
