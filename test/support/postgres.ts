import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/id.ts'
import { silentLog } from '../../src/base/log.ts'
import { openDatabase } from '../../src/store/db.ts'
import { migrate } from '../../src/store/migrate.ts'

/** A real server. `stop` may be forgotten: the server ends with this process. */
export type PostgresServer = { readonly url: string; stop(): Promise<void> }

/** Starts a PostgreSQL of our own: binaries of the system or from npm, a folder in /tmp, a Unix socket, no set-up. */
export async function startPostgres(): Promise<PostgresServer> {
  const keeper = spawn(process.execPath, [join(import.meta.dirname, 'postgres-keeper.ts')], {
    // In a session of its own Ctrl-C does not reach it; it tidies up when its input closes.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exit = new Promise<void>((done) => keeper.once('exit', () => done()))
  const answer = await firstLine(keeper.stdout)
  if (!('url' in answer)) throw new Error(answer.error)
  keeper.unref()
  for (const stream of [keeper.stdin, keeper.stdout]) (stream as unknown as { unref(): void }).unref()
  return {
    url: answer.url,
    async stop() {
      keeper.ref()
      keeper.stdin.end()
      await exit
    },
  }
}

async function firstLine(
  stdout: NodeJS.ReadableStream,
): Promise<{ readonly url: string } | { readonly error: string }> {
  for await (const line of createInterface(stdout)) return JSON.parse(line)
  return { error: 'the keeper of the test server ended without a word' }
}

let server: Promise<string> | undefined

/** The server of this run: the one that `npm test` started or the developer named, else one of our own. */
export function postgresUrl(): Promise<string> {
  server ??= process.env['TEST_DATABASE_URL']
    ? Promise.resolve(process.env['TEST_DATABASE_URL'])
    : startPostgres().then(({ url }) => url)
  return server
}

export type TestDatabase = { readonly url: string; drop(): Promise<void> }

/** An empty database with all migrations, copied file by file from a template: 25 ms of work instead of 214 by way of the log. */
export async function createDatabase(): Promise<TestDatabase> {
  template ??= postgresUrl().then(createTemplate)
  return databaseLike(await template)
}

let template: Promise<string> | undefined

/** One that no shop has ever seen. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return databaseLike('template0')
}

async function databaseLike(template: string): Promise<TestDatabase> {
  const admin = await postgresUrl()
  const name = `sutler_test_${randomBytes(6).toString('hex')}`
  await onServer(admin, (client) => client.query(`create database ${name} template ${template} strategy file_copy`))
  return {
    url: withDatabase(admin, name),
    drop: () =>
      onServer(admin, async (client) => void (await client.query(`drop database if exists ${name} with (force)`))),
  }
}

/** The first test process to come makes the template, the others wait for it. Its name changes with the migrations. */
async function createTemplate(admin: string): Promise<string> {
  const name = `sutler_template_${hashOfMigrations()}`
  await onServer(admin, async (client) => {
    await client.query('select pg_advisory_lock(402)')
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (rowCount === 1) return
    await client.query(`create database ${name}_draft`)
    const options = { dataDir: '', log: silentLog, clock: systemClock, random: systemRandom }
    const db = await openDatabase({ ...options, url: withDatabase(admin, `${name}_draft`), poolSize: 1 })
    await migrate(db)
    await db.close()
    await client.query(`alter database ${name}_draft rename to ${name}`)
  })
  return name
}

function hashOfMigrations(): string {
  const hash = createHash('sha256')
  for (const file of globSync(join(import.meta.dirname, '../../src/store/migrations/*.sql')).sort()) {
    hash.update(readFileSync(file))
  }
  return hash.digest('hex').slice(0, 12)
}

export async function onServer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function withDatabase(url: string, name: string): string {
  return url.replace(/^(\w+:\/\/[^/]*)(\/[^?]*)?/, `$1/${name}`)
}
