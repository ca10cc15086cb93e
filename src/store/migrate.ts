import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Hex } from '../base/json.ts'
import type { Log } from '../base/log.ts'
import type { Database, Queryable, Transaction } from './db.ts'
import { StoreFault } from './fault.ts'
import { statement } from './statement.ts'

type Applied = { readonly name: string; readonly sha256: string }

type Migration = Applied & { readonly text: string }

type MigrateOptions = { readonly folder?: string; readonly log?: Log }

/** The limits are for requests; an index on a large table may take longer. */
const LONG_WORK = { workMsMax: 86_400_000, statementMsMax: 6 * 3_600_000 } as const
const FOLDER = join(import.meta.dirname, 'migrations')

const CREATE_TABLE = `
  create table if not exists schema_migrations (
    name       text primary key,
    sha256     text not null,
    applied_at timestamptz not null default now()
  )`

const TAKE = statement<{ name: string }>(`
  insert into schema_migrations (name, sha256)
  values ($1, $2)
  on conflict (name) do nothing
  returning name`)

const APPLIED = statement<Applied>(`
  select name, sha256
  from schema_migrations
  order by name`)

/**
 * Brings the schema up to date; returns the names of the migrations that this call ran. Replicas may all call it at once, and
 * a process that dies half way leaves nothing behind: each file is one transaction that takes its name first, so a second
 * replica waits on the primary key and then finds the work done.
 */
export async function migrate(db: Database, { folder = FOLDER, log }: MigrateOptions = {}): Promise<readonly string[]> {
  await createTable(db)
  const applied: string[] = []
  const pending = new Set(await pendingMigrations(db, { folder }))
  for (const migration of readMigrations(folder)) {
    if (!pending.has(migration.name)) continue
    if (!(await db.transaction((tx) => apply(tx, migration), LONG_WORK))) continue
    log?.info('migration applied', { migration: migration.name })
    applied.push(migration.name)
  }
  return applied
}

/** The migrations that have not run yet, without running them. */
export async function pendingMigrations(
  db: Database,
  { folder = FOLDER }: MigrateOptions = {},
): Promise<readonly string[]> {
  const migrations = readMigrations(folder)
  const ran = await appliedMigrations(db)
  refuseNewer(migrations, ran)
  const applied = new Map(ran.map(({ name, sha256 }) => [name, sha256]))
  for (const { name, sha256 } of migrations) refuseChanged(name, sha256, applied.get(name) ?? sha256)
  return migrations.map(({ name }) => name).filter((name) => !applied.has(name))
}

/** Name and hash of each migration that ran here. */
export async function appliedMigrations(queryable: Queryable): Promise<readonly Applied[]> {
  return (await tableExists(queryable)) ? (await queryable.query(APPLIED)).rows : []
}

function readMigrations(folder: string): readonly Migration[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort()
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      return { name, text, sha256: sha256Hex(text) }
    })
}

async function createTable(db: Database): Promise<void> {
  try {
    await db.query(CREATE_TABLE)
  } catch (error) {
    // `if not exists` looks before it leaps: of two replicas that see nothing, one fails on the catalog, in one of three ways.
    if (!(await tableExists(db))) throw error
  }
}

async function tableExists(queryable: Queryable): Promise<boolean> {
  const { rows } = await queryable.query<{ exists: boolean }>(
    `select to_regclass('schema_migrations') is not null as exists`,
  )
  return rows[0]!.exists
}

async function apply(tx: Transaction, { name, text, sha256 }: Migration): Promise<boolean> {
  const { rowCount } = await tx.query(TAKE, [name, sha256])
  if (rowCount === 1) {
    await tx.query(text)
    return true
  }
  const { rows } = await tx.query(APPLIED)
  refuseChanged(name, sha256, rows.find((row) => row.name === name)?.sha256)
  return false
}

/** What a newer version made of the tables, this one does not know: it might sell by rules that no longer hold. */
function refuseNewer(known: readonly Applied[], applied: readonly Applied[]): void {
  const first = known[0]?.name ?? ''
  const strange = applied.filter(({ name }) => name >= first && !known.some((migration) => migration.name === name))
  if (strange.length === 0) return
  const names = strange.map(({ name }) => name).join(', ')
  throw new StoreFault(
    'schema_newer',
    `the store was brought up to date by a newer version of the shop (${names}), and this one does not know it; run that version, or restore the backup from before`,
  )
}

function refuseChanged(name: string, sha256: string, applied: string | undefined): void {
  if (sha256 === applied) return
  throw new StoreFault(
    'migration_changed',
    `${name} was changed after it ran here; put it back and write a new migration`,
  )
}
