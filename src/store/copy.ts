import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../base/log.ts'
import type { Database, Transaction } from './db.ts'
import { StoreFault } from './fault.ts'
import { appliedMigrations, LONG_WORK } from './migrate.ts'

type Copied = { readonly tables: number; readonly rows: number }

const BATCH_ROWS = 1000

/**
 * Copies everything in the source to an empty target with the same migrations: from the embedded engine to PostgreSQL, or
 * between major versions. Reads one snapshot and writes one transaction, so the target is complete or untouched. Tables,
 * columns, their order and sequences come from the catalog; there is no list to keep.
 */
export async function copyDatabase(source: Database, target: Database, log: Log): Promise<Copied> {
  const once = { attemptsMax: 1, ...LONG_WORK }
  return source.transaction((from) => target.transaction((to) => copyAll(from, to, log), once), {
    ...once,
    isolation: 'repeatable read',
    readOnly: true,
  })
}

async function copyAll(from: Transaction, to: Transaction, log: Log): Promise<Copied> {
  // The digests are made of printed rows, and times are printed in the zone of the session.
  for (const tx of [from, to]) await tx.query(`set local timezone = 'UTC'`)
  // What was added up comes along; it is not added up again.
  await to.query(`set local sutler.copying = 'on'`)
  await refuseOtherSchema(from, to)
  const tables = await readTables(from)
  await refuseFilled(to, tables)
  let rows = 0
  for (const table of parentsFirst(tables, await readReferences(from))) {
    const copied = await copyTable(from, to, table)
    log.info('table copied', { table: table.name, rows: copied })
    rows += copied
  }
  await copySequences(from, to)
  return { tables: tables.length, rows }
}

type Column = { readonly name: string; readonly type: string }
type Table = { readonly name: string; readonly columns: readonly Column[] }
type Reference = { readonly child: string; readonly parent: string }

/** Names are quoted by the catalog already, so they can be put into SQL as they are. */
async function readTables(tx: Transaction): Promise<readonly Table[]> {
  const { rows } = await tx.query<Table>(`
    select t.oid::regclass::text as name,
           json_agg(
             json_build_object('name', quote_ident(c.attname), 'type', format_type(c.atttypid, c.atttypmod))
             order by c.attnum
           ) as columns
    from pg_class t
    join pg_attribute c
      on c.attrelid = t.oid
     and c.attnum > 0
     and not c.attisdropped
     and c.attgenerated = ''
    where t.relnamespace = 'public'::regnamespace
      and t.relkind = 'r'
      and t.relname <> 'schema_migrations'
    group by t.oid
    order by 1`)
  return rows
}

async function readReferences(tx: Transaction): Promise<readonly Reference[]> {
  const { rows } = await tx.query<Reference>(`
    select conrelid::regclass::text as child,
           confrelid::regclass::text as parent
    from pg_constraint
    where contype = 'f'`)
  return rows
}

/** A row can only be inserted after the rows it refers to. */
function parentsFirst(tables: readonly Table[], references: readonly Reference[]): readonly Table[] {
  const sorted: Table[] = []
  let left = tables
  while (left.length > 0) {
    const isBlocked = ({ name }: Table) =>
      references.some(({ child, parent }) => child === name && left.some((other) => other.name === parent))
    const ready = left.filter((table) => !isBlocked(table))
    if (ready.length === 0) {
      const names = left.map(({ name }) => name).join(', ')
      throw new StoreFault('copy_refused', `these tables refer to each other in a circle: ${names}`)
    }
    sorted.push(...ready)
    left = left.filter(isBlocked)
  }
  return sorted
}

async function copyTable(from: Transaction, to: Transaction, { name, columns }: Table): Promise<number> {
  const aliases = columns.map((_, index) => `c${index}`)
  // Every value travels as the text that PostgreSQL prints for it, the way `pg_dump` moves data between versions.
  await from.query(`
    declare batch no scroll cursor for
    select ${columns.map((column, index) => `${column.name}::text as c${index}`).join(', ')}
    from ${name}`)
  const insert = `
    insert into ${name} (${columns.map((column) => column.name).join(', ')})
    overriding system value
    select ${columns.map((column, index) => `c${index}::${column.type}`).join(', ')}
    from unnest(${aliases.map((_, index) => `$${index + 1}::text[]`).join(', ')}) as batch (${aliases.join(', ')})`
  for (;;) {
    const { rows } = await from.query<Record<string, string | null>>(`fetch ${BATCH_ROWS} from batch`)
    if (rows.length === 0) break
    await to.query(
      insert,
      aliases.map((alias) => rows.map((row) => row[alias])),
    )
  }
  await from.query('close batch')
  return verifyTable(from, to, name)
}

/** Counts are not enough: a value that changed on the way must not go unnoticed either. */
async function verifyTable(from: Transaction, to: Transaction, name: string): Promise<number> {
  const contents = `
    select count(*)::int as rows,
           coalesce(sum(hashtextextended(content::text, 0)::numeric), 0)::text as digest
    from ${name} as content`
  const [sent] = (await from.query<{ rows: number; digest: string }>(contents)).rows
  const [arrived] = (await to.query<{ rows: number; digest: string }>(contents)).rows
  if (sent!.rows === arrived!.rows && sent!.digest === arrived!.digest) return sent!.rows
  throw new StoreFault(
    'copy_refused',
    `${name} is not the same after the copy: ${sent!.rows} and ${arrived!.rows} rows`,
  )
}

async function copySequences(from: Transaction, to: Transaction): Promise<void> {
  const { rows } = await from.query<{ name: string }>(`
    select oid::regclass::text as name
    from pg_class
    where relnamespace = 'public'::regnamespace
      and relkind = 'S'`)
  for (const { name } of rows) {
    const [state] = (
      await from.query<{ value: string; is_called: boolean }>(`select last_value as value, is_called from ${name}`)
    ).rows
    await to.query('select setval($1::regclass, $2, $3)', [name, state!.value, state!.is_called])
  }
}

async function refuseOtherSchema(from: Transaction, to: Transaction): Promise<void> {
  if (isDeepStrictEqual(await appliedMigrations(from), await appliedMigrations(to))) return
  throw new StoreFault('copy_refused', 'source and target have not run the same migrations; migrate both first')
}

async function refuseFilled(to: Transaction, tables: readonly Table[]): Promise<void> {
  for (const { name } of tables) {
    const { rows } = await to.query(`select from ${name} limit 1`)
    if (rows.length > 0) throw new StoreFault('copy_refused', `the target is not empty: ${name} has rows`)
  }
}
