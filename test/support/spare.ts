import type { Database } from '../../src/store/db.ts'
import { createDatabase, onServer, type TestDatabase } from './postgres.ts'

// To copy the template file by file for each test, and to throw the copy away file by file, took 30 ms of CPU more than this: one that only
// ever had rows is emptied, and the next test gets it.

const spare: TestDatabase[] = []
// The server may be the developer's own.
process.once('beforeExit', () => Promise.all(spare.splice(0).map((database) => database.drop())))

export async function takeDatabase(): Promise<TestDatabase> {
  return spare.pop() ?? createDatabase()
}

/** For the next test if it is as it was made; else it goes. Nobody but `db` may still be at it. */
export async function giveBack(database: TestDatabase, db: Database): Promise<void> {
  const isAsMade = await emptied(db)
  await db.close()
  if (isAsMade) spare.push(database)
  else await database.drop()
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

async function emptied(db: Database): Promise<boolean> {
  asMade ??= shapeAsMade()
  const made = await asMade
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
    // A test has closed it, or has left it to a server that is gone.
    return false
  }
}
