import type { Database } from '../../src/store/db.ts'

/** A backup that is restored elsewhere: every row of one moment, in another store with the same tables. */
export async function copyStore(from: Database, to: Database): Promise<void> {
  const read = { isolation: 'repeatable read', readOnly: true, attemptsMax: 1 } as const
  const dump = await from.transaction(async (tx) => {
    const { rows: tables } = await tx.query<{ name: string }>(`
      select relname as name
      from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'schema_migrations'`)
    const { rows: sequences } = await tx.query<{ name: string }>(`
      select relname as name
      from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'S'`)
    const contents: [string, string][] = []
    for (const { name } of tables) {
      const { rows } = await tx.query<{ all: string }>(`select coalesce(json_agg(t), '[]')::text as all from ${name} t`)
      contents.push([name, rows[0]!.all])
    }
    const places: [string, string, boolean][] = []
    for (const { name } of sequences) {
      const { rows } = await tx.query<{ at: string; used: boolean }>(
        `select last_value::text as at, is_called as used from ${name}`,
      )
      places.push([name, rows[0]!.at, rows[0]!.used])
    }
    return { contents, places }
  }, read)
  await to.transaction(async (tx) => {
    // Neither references nor triggers: the rows are as they were.
    await tx.query('set local session_replication_role = replica')
    for (const [name, all] of dump.contents)
      await tx.query(
        `insert into ${name} overriding system value select * from json_populate_recordset(null::${name}, $1::json)`,
        [all],
      )
    for (const [name, at, used] of dump.places) await tx.query('select setval($1::regclass, $2, $3)', [name, at, used])
  })
}
