import pg from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { seedSandboxGame } from '../../src/sandbox/players.ts'
import type { Backend } from '../../src/store/backend.ts'
import { createDatabase, type Database } from '../../src/store/db.ts'
import { migrate } from '../../src/store/migrate.ts'
import { createConnectionPool } from '../../src/store/pool.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { rememberAll, sayRestored } from './engine.ts'
import { FOUNDING_MS } from './process.ts'
import type { Actor } from './scheduler.ts'
import { tamed } from './session.ts'
import type { SimStore, StoreWay } from './store.ts'
import { gatedDatabase } from './store-gate.ts'

/**
 * Time and chance of a universe in SQL, without a word changed in a statement: functions of the same names that are found first. Time comes from
 * the session, chance from a counter.
 */
const TIME_AND_CHANCE = `
  create schema sim;
  create sequence sim.counter;
  create function sim.now() returns timestamptz language sql stable as
    $$ select current_setting('sim.begun')::timestamptz $$;
  create function sim.clock_timestamp() returns timestamptz language sql volatile as
    $$ select current_setting('sim.clock')::timestamptz $$;
  create function sim.gen_random_uuid() returns uuid language sql volatile as
    $$ select md5(nextval('sim.counter')::text)::uuid $$;
  create function sim.random() returns double precision language sql volatile as
    $$ select ('x' || substr(md5(nextval('sim.counter')::text), 1, 7))::bit(28)::int / 268435456.0::double precision $$`

const CONNECTIONS_MAX = 40
const MONITORS_MAX = 4
const GONE_LOOK_MS = 2

/** On a PostgreSQL of its own: every replica has its sessions, transactions go statement by statement, and locks are waited for. */
export async function openPostgresStore(
  { url, drop }: TestDatabase,
  furnish: (db: Database) => Promise<void>,
): Promise<SimStore> {
  const name = new URL(url.replace(/^postgres\w*:/, 'http:')).pathname.slice(1)
  const monitor = new pg.Pool({ connectionString: url, max: MONITORS_MAX })
  // A connection that is still closing when the database is dropped is ended by the server, and says so.
  monitor.on('error', () => {})
  await monitor.query(TIME_AND_CHANCE)
  const setting = (what: string) => monitor.query(`alter database ${name} set ${what}`)
  for (const clock of ['sim.begun', 'sim.clock']) await setting(`${clock} = '${new Date(FOUNDING_MS).toISOString()}'`)
  // Tables are made in `public`, and what they take for themselves is the universe's already.
  await setting('search_path = public, sim, pg_catalog')
  const founder = databaseAt(poolAt(url))
  await migrate(founder)
  await founder.close()
  await setting('search_path = sim, public, pg_catalog')
  const db = databaseAt(poolAt(url, 1))
  await seedSandboxGame(db)
  await furnish(db)
  const { wipe, bare, backUp, restore } = await rememberAll(db)
  const clients = new Map<Actor, Set<pg.PoolClient>>()

  /** As the death of a process does: the server finds out, and takes back what was not committed. */
  async function hangUp(actor: Actor): Promise<void> {
    const pids: number[] = []
    for (const client of clients.get(actor) ?? []) {
      pids.push((client as unknown as { processID: number }).processID)
      ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    }
    clients.delete(actor)
    // One that waits for a lock does not look at its connection.
    await monitor.query('select pg_terminate_backend(pid) from unnest($1::int[]) as t (pid)', [pids])
    await gone(monitor, pids)
  }

  function open(way: StoreWay): Database {
    const { sim, actor, memory } = way
    const pool = poolAt(url, CONNECTIONS_MAX)
    const own = new Set<pg.PoolClient>()
    clients.set(actor, own)
    pool.on('connect', (client) => {
      own.add(client as pg.PoolClient)
      tamed(client, way, monitor)
    })
    const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
    // Nobody goes on while somebody is being connected: that is the machine's time, and not the universe's.
    pool.connect = (() => sim.work(connect)) as typeof pool.connect
    const sessions = databaseAt(pool, sim.clockOf(actor))
    return gatedDatabase({ sim, db: sessions, outside: db, bare, gate: null, memory })
  }

  return {
    db,
    bare,
    async reset() {
      for (const actor of [...clients.keys()]) await hangUp(actor)
      await db.query(wipe)
      await db.query('alter sequence sim.counter restart')
    },
    async backUp() {
      await db.query(backUp)
    },
    async restore(at) {
      await db.query(restore)
      await sayRestored(db, at)
    },
    open,
    hangUp,
    async close() {
      for (const actor of [...clients.keys()]) await hangUp(actor)
      await Promise.all([db.close(), monitor.end()])
      await drop()
    },
  }
}

async function gone(monitor: pg.Pool, pids: readonly number[]): Promise<void> {
  for (;;) {
    const { rowCount } = await monitor.query('select from pg_stat_activity where pid = any ($1)', [pids])
    if (rowCount === 0) return
    await new Promise((resolve) => setTimeout(resolve, GONE_LOOK_MS))
  }
}

function poolAt(url: string, max = 1): pg.Pool {
  return createConnectionPool({ connectionString: url, max }, silentLog)
}

function databaseAt(pool: pg.Pool, clock = systemClock): Database {
  const backend: Backend = {
    engine: 'postgres',
    keepsSessions: true,
    hosts: 1,
    description: 'PostgreSQL',
    pool,
    ensureRoom() {},
    freeBytes: () => null,
    close: () => pool.end(),
  }
  return createDatabase(backend, { dataDir: '', log: silentLog, clock, random: { bytes: (n) => new Uint8Array(n) } })
}
