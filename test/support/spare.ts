import { Problem } from '../../src/base/problem.ts'
import type { Database } from '../../src/store/db.ts'
import { createDatabase, onServer, type TestDatabase } from './postgres.ts'
import { until } from './until.ts'

// To copy the template file by file for each test, to throw the copy away, and to connect to it a dozen times took more than many a test. One that
// only ever had rows is emptied, and the next test gets it, with whoever is connected to it and all that these have prepared.

/** A database, and handles to it that nobody uses. */
export type Spare = {
  readonly database: TestDatabase
  readonly handles: readonly Database[]
  /** Equal for handles that were opened in the same way. */
  readonly how: string
}

const spares: Spare[] = []
// The server may be the developer's own.
process.once('beforeExit', () => Promise.all(spares.splice(0).map(end)))

export async function takeSpare(how: string): Promise<Spare> {
  const ready = spares.findIndex((spare) => spare.how === how && spare.handles.length > 0)
  const index = ready < 0 ? spares.findIndex(({ handles }) => handles.length === 0) : ready
  return index < 0 ? { database: await createDatabase(), handles: [], how } : { ...spares.splice(index, 1)[0]!, how }
}

/** Whoever runs tests side by side has many of them for a moment, and the server does not take as many connections as all files together would keep. */
const HANDLES_MAX = 3

/** For the next test if it is as it was made; else it goes. */
export async function giveBack(spare: Spare): Promise<void> {
  const { database, handles, how } = spare
  if (!(await emptied(handles))) return end(spare)
  const room = HANDLES_MAX - spares.reduce((sum, one) => sum + one.handles.length, 0)
  spares.push({ database, handles: handles.slice(0, Math.max(0, room)), how })
  await Promise.all(handles.slice(Math.max(0, room)).map((handle) => handle.close()))
}

export async function end({ database, handles }: Pick<Spare, 'database' | 'handles'>): Promise<void> {
  await Promise.all(handles.map((handle) => handle.close()))
  await database.drop()
}

/** A handle that a test has for its time: whatever comes late afterwards reaches nobody else's rows. */
export type Lent = {
  readonly db: Database
  /** Nobody has it any more. Null: its test has closed it. */
  takeBack(): Database | null
}

export function lend(handle: Database): Lent {
  let state: 'lent' | 'closed' | 'over' = 'lent'
  const whileLent = <Work extends (...args: never[]) => Promise<unknown>>(work: Work): Work =>
    ((...args) =>
      state === 'over'
        ? Promise.reject(new Problem('store_unavailable', 'The test that had this store is over.'))
        : work(...args)) as Work
  return {
    db: {
      ...handle,
      query: whileLent(handle.query),
      transaction: whileLent(handle.transaction),
      ping: whileLent(handle.ping),
      close: whileLent(async () => {
        state = 'closed'
        await handle.close()
      }),
    },
    takeBack() {
      if (state === 'closed') return null
      state = 'over'
      return handle
    },
  }
}

type Look = { readonly shape: string; readonly used: readonly string[]; readonly sequences: readonly string[] }

/** What a test may have done to it besides writing rows: new things have higher numbers than all that were copied. And where rows may be. */
const LOOK = `select
  concat_ws(' ',
    (select concat(count(*), '/', max(oid::bigint)) from pg_class),
    (select concat(count(*), '/', max(oid::bigint)) from pg_proc),
    (select concat(count(*), '/', max(oid::bigint), '/', sum(ascii(tgenabled::text))) from pg_trigger),
    (select count(*) from pg_db_role_setting where setdatabase = (select oid from pg_database where datname = current_database())),
    (select count(*) from schema_migrations)) as shape,
  array(select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
    and relname <> 'schema_migrations' and pg_relation_size(oid) > 0) as used,
  array(select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'S') as sequences`

let asMade: Promise<string> | undefined

/** By one that no test has had. */
async function shapeAsMade(): Promise<string> {
  const database = await createDatabase()
  const { rows } = await onServer(database.url, (client) => client.query<Look>(LOOK))
  await database.drop()
  return rows[0]!.shape
}

async function emptied(handles: readonly Database[]): Promise<boolean> {
  asMade ??= shapeAsMade()
  const made = await asMade
  const [db] = handles
  if (!db) return false
  // What is under way is older than the next test.
  await until(() => handles.map((handle) => handle.status()).every(({ idle, connections }) => idle === connections))
  try {
    const { rows } = await db.query<Look>(LOOK)
    const { shape, used, sequences } = rows[0]!
    if (shape !== made) return false
    const statements = [
      'begin',
      // Neither order nor guards: nobody reads it any more.
      'set local session_replication_role = replica',
      ...used.map((table) => `delete from ${table}`),
      ...sequences.map((sequence) => `select setval('${sequence}', 1, false)`),
      'commit',
    ]
    await db.query(statements.join(';\n'))
    return true
  } catch {
    // It was left to a server that is gone.
    return false
  }
}
