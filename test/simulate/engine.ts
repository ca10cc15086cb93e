import { PGlite } from '@electric-sql/pglite'
import type { Clock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { seedSandboxGame } from '../../src/sandbox/players.ts'
import type { Backend } from '../../src/store/backend.ts'
import { createDatabase, type Database } from '../../src/store/db.ts'
import { type Line, WireSocket } from '../../src/store/embedded/bridge.ts'
import { joined } from '../../src/store/embedded/bytes.ts'
import { migrate } from '../../src/store/migrate.ts'
import { createPool } from '../../src/store/pool.ts'

/** The real schema, driver and `Database`, over an engine in this thread and in memory. */
export type MemoryStore = {
  readonly db: Database
  /** As it was founded. */
  reset(): Promise<void>
}

/** While the engine works, the process clock is the store's own and nobody else's, whoever asked. */
export type StoreTime = { isAsked: number }

const VACUUM_EVERY = 10

export async function openMemoryStore(time: StoreTime, furnish: (db: Database) => Promise<void>): Promise<MemoryStore> {
  const engine = await PGlite.create()
  const db = overWire(engine, time)
  await migrate(db)
  await seedSandboxGame(db)
  await furnish(db)
  const wipe = await rememberAll(db)
  let resets = 0
  return {
    db,
    async reset() {
      await db.query(wipe)
      // Dead rows would slow down every later universe, and change in which order rows are found.
      if (++resets % VACUUM_EVERY === 0) await db.query('vacuum')
    },
  }
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
        .then(() => onBytes(joined(chunks)))
    },
    hangUp() {},
  }
  const stream = () => new WireSocket(async () => line)
  const pool = createPool({ max: 1, user: 'postgres', database: 'postgres', ssl: false, stream } as never, silentLog)
  const backend: Backend = {
    engine: 'embedded',
    description: 'memory',
    pool,
    ensureRoom() {},
    freeBytes: () => null,
    close: () => pool.end(),
  }
  const clock: Clock = { now: () => Date.now(), sleep: () => new Promise<void>(setImmediate) }
  return createDatabase(backend, { dataDir: '', log: silentLog, clock, random: { bytes: (n) => new Uint8Array(n) } })
}

/** Copies every table that has rows, and returns the statements that bring the store back to them: three milliseconds, where `truncate` takes sixty. */
async function rememberAll(db: Database): Promise<string> {
  const names = async (query: string) => (await db.query<{ name: string }>(query)).rows.map(({ name }) => name)
  const tables = await names(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'schema_migrations' order by 1`,
  )
  const sequences = await names(`select sequencename as name from pg_sequences where schemaname = 'public' order by 1`)
  await db.query('create schema founded')
  const filled: string[] = []
  for (const table of tables) {
    const { rows } = await db.query<{ count: number }>(`select count(*)::int as count from ${table}`)
    if (rows[0]!.count === 0) continue
    filled.push(table)
    await db.query(`create table founded.${table} as select * from ${table}`)
  }
  return [
    'set session_replication_role = replica',
    ...tables.map((table) => `delete from ${table}`),
    ...sequences.map((sequence) => `alter sequence ${sequence} restart`),
    ...filled.map((table) => `insert into ${table} overriding system value select * from founded.${table}`),
    'set session_replication_role = origin',
  ].join(';\n')
}
