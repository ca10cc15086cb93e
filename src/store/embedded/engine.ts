import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { syncPath } from '../../base/data-folder.ts'
import { Problem } from '../../base/problem.ts'
import { StoreFault } from '../fault.ts'
import { joinedBytes } from './bytes.ts'
import { emptyCluster } from './cluster.ts'
import { closeTree, syncTree } from './disk.ts'
import { durableFiles, ENOSPC } from './durable.ts'

/** PostgreSQL inside this thread: one session, one statement at a time, every commit on the disk before it is answered. */
export type Engine = {
  readonly version: string
  /** Hands whole messages of the wire protocol to the backend and returns what it answers. Blocks the thread meanwhile. */
  exchange(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>>
  /** For the worker's own statements, between those of the connection. */
  rows<Row>(sql: string): Promise<readonly Row[]>
  run(sql: string): Promise<void>
  close(): Promise<void>
}

type EngineOptions = {
  readonly dataDir: string
  /** What PostgreSQL prints, for the log. */
  onLine(line: string): void
  /** Must end the thread: after a panic the engine's memory is not to be trusted with another statement. */
  onDeath(reason: Error): never
}

// A folder belongs to one major version. A new PGlite with another one cannot open it.
const MAJOR = '18'

const settings = {
  fsync: 'on',
  // The default, fdatasync, is an empty function in the WASM build.
  wal_sync_method: 'fsync',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '32MB',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
}

const startParams = [
  // -F is fsync=off.
  ...PGlite.defaultStartParams.filter((param) => param !== '-F'),
  ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
]

export async function openEngine({ dataDir, onLine, onDeath }: EngineOptions): Promise<Engine> {
  const folder = join(dataDir, 'pg')
  if (!existsSync(folder)) await createCluster(folder)
  refuseForeign(folder)

  let isOpen = false
  let lastWords = 'the engine stopped without a word'
  const listen = (line: string) => {
    lastWords = /\b(?:FATAL|PANIC):\s*(.*)/.exec(line)?.[1] ?? lastWords
    // Statements hold what buyers sent.
    if (!line.includes('STATEMENT:')) onLine(line)
    return false
  }
  const die = () => onDeath(isOpen ? new Error(lastWords) : corrupt(folder, lastWords))
  const files = durableFiles(folder, die)
  const pglite = await PGlite.create({ fs: files.fs, startParams, onStderr: listen }).catch((cause) => {
    throw corrupt(folder, lastWords, cause)
  })
  watchLoop(pglite, die)
  const version = await proveDurable(pglite, files.syncs)
  isOpen = true
  return {
    version,
    exchange: (bytes) => exchange(pglite, bytes),
    rows: async <Row>(sql: string) => (await pglite.query<Row>(sql)).rows,
    run: async (sql) => void (await pglite.exec(sql)),
    close: () => pglite.close(),
  }
}

/** The folder appears under its name only when it is complete and on the disk, so a start that is cut off leaves no half. */
async function createCluster(folder: string): Promise<void> {
  const draft = `${folder}.new`
  rmSync(draft, { recursive: true, force: true })
  try {
    const pglite = await PGlite.create({ fs: new NodeFS(draft), loadDataDir: emptyCluster() })
    await pglite.close()
    closeTree(draft)
    syncTree(draft)
  } catch (cause) {
    rmSync(draft, { recursive: true, force: true })
    throw cannotCreate(folder, cause)
  }
  renameSync(draft, folder)
  syncPath(dirname(folder))
}

function cannotCreate(folder: string, cause: unknown): Error {
  const { errno, message } = cause as { errno?: number; message?: string }
  if (errno === ENOSPC) return new Problem('store_full', `there is no room for a new database in ${folder}`, { cause })
  return new StoreFault('data_dir_unusable', `no database can be made in ${folder}: ${message ?? `error ${errno}`}`, {
    cause,
  })
}

function refuseForeign(folder: string): void {
  const file = join(folder, 'PG_VERSION')
  // Without this file PGlite would start a new database on top of the old files.
  if (!existsSync(file)) throw corrupt(folder, 'PG_VERSION is missing')
  const major = readFileSync(file, 'utf8').trim()
  if (major === MAJOR) return
  if (!/^\d+$/.test(major)) throw corrupt(folder, 'PG_VERSION is not readable')
  throw new StoreFault(
    'data_dir_version',
    `${folder} was written by PostgreSQL ${major} and this version of sutler has ${MAJOR}; copy it with the version that wrote it`,
  )
}

function corrupt(folder: string, why: string, cause?: unknown): StoreFault {
  return new StoreFault(
    'data_dir_corrupt',
    `the database in ${folder} cannot be opened: ${why}; restore a backup, or move the folder away to start empty`,
    { cause },
  )
}

// The status with which PGlite leaves the backend's loop after an ordinary error of a statement.
const ORDINARY_ERROR = 100

/**
 * PGlite swallows whatever its main loop throws and calls the loop again. After a panic that repeats for ever, or worse,
 * carries on with a commit that never reached the disk (seen with a failed fsync). Here all but ordinary errors end the thread.
 */
function watchLoop(pglite: PGlite, die: () => never): void {
  const module = pglite.Module
  const loopOnce = module._PostgresMainLoopOnce
  module._PostgresMainLoopOnce = () => {
    try {
      loopOnce()
    } catch (error) {
      if ((error as { status?: number }).status !== ORDINARY_ERROR) die()
      throw error
    }
  }
}

type Settings = { readonly version: string; readonly is_durable: boolean }

/** Refuses to serve unless a commit really forces bytes to the disk: the guard against a PGlite that stops calling the hook. */
async function proveDurable(pglite: PGlite, syncs: () => number): Promise<string> {
  const before = syncs()
  await pglite.query(`select pg_logical_emit_message(true, 'sutler', 'does a commit reach the disk?')`)
  const { rows } = await pglite.query<Settings>(`
    select current_setting('server_version') as version,
           current_setting('fsync') = 'on'
           and current_setting('synchronous_commit') = 'on'
           and current_setting('full_page_writes') = 'on'
           and current_setting('wal_sync_method') = 'fsync' as is_durable`)
  const { version, is_durable } = rows[0]!
  if (is_durable && syncs() > before) return version
  throw new StoreFault(
    'durability_missing',
    'the embedded database does not force commits to the disk; this version of PGlite cannot be used, use PostgreSQL',
  )
}

async function exchange(pglite: PGlite, bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  // The streaming form: the plain one also parses every answer, and keeps it for ever.
  await pglite.execProtocolRawStream(bytes, { syncToFs: false, onRawData: (chunk) => void chunks.push(chunk.slice()) })
  return joinedBytes(chunks)
}
