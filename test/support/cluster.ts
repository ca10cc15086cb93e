import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { openDatabase } from '../../src/store/db.ts'
import { migrate } from '../../src/store/migrate.ts'
import { type Account, unprivilegedAccount } from './account.ts'
import { quiet } from './database.ts'
import { freePort } from './free-port.ts'
import { type Mounted, mountMemory } from './mount.ts'
import { onServer } from './postgres.ts'
import { systemBinaries } from './postgres-binaries.ts'
import { until } from './until.ts'

/** A standby is made with `pg_basebackup`, which the packages of npm do not have. */
export const clusterBinaries = systemBinaries('pg_basebackup')

/** One server of a pair, which may be killed, frozen and promoted. */
export type PostgresNode = {
  readonly port: number
  /** Of this server alone. */
  readonly url: string
  kill(): Promise<void>
  /** SIGSTOP to all of its processes: connections stay open and nobody answers. */
  freeze(): void
  thaw(): void
  /** A standby becomes the primary. */
  promote(): Promise<void>
  start(): Promise<void>
  run(sql: string): Promise<void>
  /** How many rows it shows. */
  count(sql: string): Promise<number>
}

/** A primary and a standby on this machine, and an address that names both. */
export type Cluster = {
  readonly url: string
  readonly primary: PostgresNode
  readonly standby: PostgresNode
  /** From now on a commit is acknowledged only when the standby has it. */
  synchronous(): Promise<void>
  /** The standby hears no more of the primary, and the primary does not wait for it. */
  detach(): Promise<void>
  /** The server that died becomes a standby of the other one. */
  rejoin(): Promise<void>
  /** Fills the disk of the first server; null where nobody may mount one. */
  readonly disk: { fill(): void; free(): void } | null
  stop(): Promise<void>
}

const DATABASE = 'shop'
const DISK_MB = 400

export async function startCluster({ onSmallDisk = false } = {}): Promise<Cluster> {
  if (clusterBinaries === null) throw new Error('PostgreSQL with pg_basebackup is not installed')
  const account = unprivilegedAccount()
  const folder = mkdtempSync(join(tmpdir(), 'sutler-cluster-'))
  const disk = onSmallDisk ? mountMemory(DISK_MB) : null
  for (const place of [folder, ...(disk ? [disk.folder] : [])]) {
    if (account) chownSync(place, account.uid, account.gid)
    chmodSync(place, 0o755)
  }
  const bin = (name: string) => join(clusterBinaries!, name)
  const tool = (name: string, args: readonly string[]) => runTool(bin(name), args, folder, account)
  const dataOf = [join(disk?.folder ?? folder, 'first'), join(folder, 'second')] as const
  // The log of the small disk lies elsewhere: a full table is an error, a full log would end the server.
  const logged = disk ? ['--waldir', join(folder, 'first-wal')] : []
  tool('initdb', [
    '-D',
    dataOf[0],
    '-U',
    'postgres',
    '--auth=trust',
    '-E',
    'UTF8',
    '--locale=C',
    '--no-sync',
    ...logged,
  ])
  const nodes = [
    nodeAt({ data: dataOf[0], port: await freePort(), folder, account, binary: bin('postgres') }),
    nodeAt({ data: dataOf[1], port: await freePort(), folder, account, binary: bin('postgres') }),
  ] as const
  let [primary, standby] = nodes

  async function follow(): Promise<void> {
    const data = dataOf[nodes.indexOf(standby)]!
    rmSync(data, { recursive: true, force: true })
    const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres']
    tool('pg_basebackup', [...from, '-D', data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'])
    await standby.start()
    await until(async () => (await ask(primary.url, `select from pg_stat_replication where state = 'streaming'`)) === 1)
  }

  await primary.start()
  await onServer(primary.url.replace(`/${DATABASE}`, '/postgres'), (client) =>
    client.query(`create database ${DATABASE}`),
  )
  const db = await openDatabase({ ...quiet, dataDir: '', url: primary.url, poolSize: 1 })
  await migrate(db)
  await db.close()
  await follow()
  return {
    url: `postgres://postgres@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${DATABASE}?target_session_attrs=read-write`,
    get primary() {
      return primary
    },
    get standby() {
      return standby
    },
    async synchronous() {
      await primary.run(`alter system set synchronous_standby_names = '*'`)
      await primary.run('select pg_reload_conf()')
      await until(
        async () => (await ask(primary.url, `select from pg_stat_replication where sync_state = 'sync'`)) === 1,
      )
    },
    async detach() {
      await primary.run(`alter system set synchronous_standby_names = ''`)
      await primary.run('select pg_reload_conf()')
      await standby.run(`alter system set primary_conninfo = ''`)
      await standby.run('select pg_reload_conf()')
      await until(async () => (await ask(primary.url, 'select from pg_stat_replication')) === 0)
    },
    async rejoin() {
      const died = primary
      primary = standby
      standby = died
      await follow()
    },
    disk: disk && diskOf(disk),
    async stop() {
      await Promise.all(nodes.map((node) => node.kill()))
      disk?.unmount()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function diskOf({ folder }: Mounted) {
  const filler = join(folder, 'filler')
  return {
    // Ends with an error when there is no more room, which is what it is for.
    fill: () => void spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=8k'], { stdio: 'ignore' }),
    free: () => rmSync(filler),
  }
}

function runTool(command: string, args: readonly string[], cwd: string, account: Account | null): void {
  const { status, stderr, error } = spawnSync(command, args, { ...account, cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr.trim()}`)
}

type NodePlace = {
  readonly data: string
  readonly port: number
  readonly folder: string
  readonly account: Account | null
  readonly binary: string
}

function nodeAt({ data, port, folder, account, binary }: NodePlace): PostgresNode {
  const url = `postgres://postgres@127.0.0.1:${port}/${DATABASE}`
  let server: ChildProcess | null = null
  const end = () => server?.kill('SIGKILL')
  process.once('exit', end)
  const signal = (name: NodeJS.Signals) => {
    for (const pid of familyOf(server!.pid!)) signalIfThere(pid, name)
  }
  return {
    port,
    url,
    async start() {
      const settings = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '', fsync: 'off' }
      const more = { max_connections: '100', max_wal_size: '128MB', wal_keep_size: '64MB' }
      const args = Object.entries({ ...settings, ...more }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
      const started = spawn(binary, ['-D', data, ...args], {
        ...account,
        cwd: folder,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      server = started
      const lines: string[] = []
      for await (const line of createInterface(started.stderr!)) {
        if (/ready to accept (read-only )?connections/.test(line)) {
          started.stderr!.resume()
          return
        }
        lines.push(line)
      }
      throw new Error(`PostgreSQL did not start: ${lines.slice(-5).join(' ')}`)
    },
    async kill() {
      process.off('exit', end)
      if (server === null || server.exitCode !== null || server.signalCode !== null) return
      const exit = once(server, 'exit')
      // All at once, as when the machine dies.
      signal('SIGKILL')
      await exit
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async promote() {
      await onServer(url, (client) => client.query('select pg_promote()'))
    },
    run: (sql) => onServer(url, async (client) => void (await client.query(sql))),
    count: (sql) => ask(url, sql),
  }
}

/** The server and its processes, itself first: it must not see them end. */
function familyOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return [pid, ...children.split(' ').map(Number).filter(Boolean)]
}

async function ask(url: string, sql: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rowCount ?? 0
  } finally {
    await client.end()
  }
}

/** A session may have ended since it was counted. */
function signalIfThere(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
