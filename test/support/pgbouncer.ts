import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

export const hasPgbouncer = spawnSync('pgbouncer', ['--version']).status === 0

/** A real PgBouncer in transaction mode: a session of the server serves whoever comes next, transaction by transaction. */
export type Pgbouncer = { readonly url: string; stop(): Promise<void> }

/** Fewer than the shop has connections, so that they are really shared. */
const SESSIONS = 3

export async function startPgbouncer(databaseUrl: string): Promise<Pgbouncer> {
  const { searchParams, pathname } = new URL(databaseUrl)
  const folder = mkdtempSync(join(tmpdir(), 'sutler-pgbouncer-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
* = host=${searchParams.get('host')} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${SESSIONS}
max_client_conn = 200
`,
  )
  // It does not run as root.
  const asUser = process.getuid?.() === 0 ? ['-u', 'postgres'] : []
  const child = spawn('pgbouncer', ['-q', ...asUser, file], { stdio: 'ignore' })
  const exit = once(child, 'exit')
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  const url = `postgres://postgres@127.0.0.1:${port}${pathname}`
  await until(async () => {
    if (child.exitCode !== null) throw new Error('PgBouncer does not start')
    return isThere(url)
  })
  return {
    url,
    async stop() {
      process.off('exit', end)
      end()
      await exit
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function isThere(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  )
}
