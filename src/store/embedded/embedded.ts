import { Worker } from 'node:worker_threads'
import { claimFolder, type DataFolder } from '../../base/data-folder.ts'
import type { Log } from '../../base/log.ts'
import { Problem } from '../../base/problem.ts'
import type { Backend } from '../backend.ts'
import { StoreFault } from '../fault.ts'
import { createConnectionPool } from '../pool.ts'
import { type Line, WireSocket } from './bridge.ts'
import { freeBytes, judgeDisk } from './disk.ts'
import type { FromWorker, ToWorker, WorkerOptions } from './messages.ts'

type EmbeddedOptions = {
  readonly dataDir: string
  /** The same folder, when whoever opens the store has claimed it already. */
  readonly folder?: DataFolder
  readonly roomBytesMin?: number
  readonly waitMsMax?: number
  readonly log: Log
}

const ROOM_BYTES_MIN = 64 << 20
// Long enough to wait for a restart of the engine with a full recovery.
const WAIT_MS_MAX = 30_000

/** PostgreSQL inside this process, in a folder that is its alone. If the engine dies, the next query starts it again. */
export async function openEmbedded(options: EmbeddedOptions): Promise<Backend> {
  const { log, roomBytesMin = ROOM_BYTES_MIN, waitMsMax = WAIT_MS_MAX } = options
  const folder = options.folder ?? claimFolder(options.dataDir)
  const dataDir = folder.path
  const letGo = () => {
    if (folder !== options.folder) folder.release()
  }
  let host: Promise<Host> | null = null

  function currentHost(): Promise<Host> {
    host ??= startHost({ dataDir }, log, () => {
      host = null
    })
    return host
  }

  async function close(): Promise<void> {
    await pool.end()
    try {
      await (await host)?.close()
    } finally {
      letGo()
    }
  }

  const pool = createConnectionPool(
    {
      max: 1,
      user: 'postgres',
      database: 'postgres',
      ssl: false,
      stream: () => new WireSocket(currentHost),
      connectionTimeoutMillis: waitMsMax,
    },
    log,
  )

  try {
    judgeDisk(dataDir, log)
    const { version } = await currentHost()
    return {
      engine: 'embedded',
      keepsSessions: true,
      hosts: 1,
      description: `PostgreSQL ${version} embedded in ${dataDir}`,
      pool,
      ensureRoom: () => refuseFull(dataDir, roomBytesMin),
      freeBytes: () => freeBytes(dataDir),
      close,
    }
  } catch (error) {
    letGo()
    throw error
  }
}

function refuseFull(dataDir: string, roomBytesMin: number): void {
  if (freeBytes(dataDir) < roomBytesMin) {
    throw new Problem('store_full', 'The disk of the store is almost full; nothing new is sold until there is room.')
  }
}

/** A running worker thread. */
type Host = Line & { readonly version: string; close(): Promise<void> }

type Listener = { readonly onBytes: (bytes: Uint8Array) => void; readonly onEnd: (error: Error) => void }

function startHost(workerData: WorkerOptions, log: Log, onExit: () => void): Promise<Host> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData })
  const listeners = new Map<number, Listener>()
  let connections = 0
  let isExpected = false
  let reason = 'the thread ended'
  const exit = new Promise<void>((done) => worker.once('exit', () => done()))
  const tell = (message: ToWorker, transfer: ArrayBuffer[] = []) => worker.postMessage(message, transfer)

  const host = (version: string): Host => ({
    version,
    open(onBytes, onEnd) {
      listeners.set(++connections, { onBytes, onEnd })
      return connections
    },
    send: (connection, bytes) => tell({ kind: 'bytes', connection, bytes }, [bytes.buffer]),
    hangUp(connection) {
      if (listeners.delete(connection)) tell({ kind: 'hang-up' })
    },
    async close() {
      isExpected = true
      tell({ kind: 'close' })
      await exit
    },
  })

  return new Promise((ready, fail) => {
    worker.on('message', (message: FromWorker) => {
      switch (message.kind) {
        case 'bytes':
          return listeners.get(message.connection)?.onBytes(message.bytes)
        case 'ready':
          return ready(host(message.version))
        case 'refused':
          isExpected = true
          return fail(refused(message))
        case 'log':
          return log[message.level](message.message, message.fields)
        case 'died':
          reason = message.reason
      }
    })
    worker.on('error', (error) => {
      reason = error.message
    })
    void exit.then(() => {
      onExit()
      if (!isExpected) log.error('the embedded database stopped; the next query starts it again', { reason })
      const error = stopped(reason)
      for (const { onEnd } of listeners.values()) onEnd(error)
      fail(error)
    })
  })
}

function refused({ code, message }: FromWorker & { kind: 'refused' }): Error {
  return code === 'store_full' ? new Problem(code, message) : new StoreFault(code, message)
}

/** To the callers it is what the restart of a server would be, or its full disk. */
function stopped(reason: string): Error {
  const code = /No space left on device/.test(reason) ? '53100' : '57P01'
  return Object.assign(new Error(`the embedded database stopped: ${reason}`), { code })
}
