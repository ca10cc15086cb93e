import { parentPort, workerData } from 'node:worker_threads'
import { isProblem } from '../../base/problem.ts'
import { StoreFault } from '../fault.ts'
import { type Engine, openEngine } from './engine.ts'
import { maintain } from './maintenance.ts'
import type { FromWorker, ToWorker, WorkerOptions } from './messages.ts'

// The thread that runs the embedded engine. In the main thread the engine would stop every request while a statement runs.

const { dataDir } = workerData as WorkerOptions
const port = parentPort!
let isServing = false

function tell(message: FromWorker, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

/** Ends the thread. Node stops it at the next instruction, so nothing can be answered after this. */
function die(reason: Error): never {
  tell(isServing ? { kind: 'died', reason: reason.message } : refusal(reason))
  process.exit(1)
}

function refusal(reason: Error): FromWorker {
  const { message } = reason
  const isFull = isProblem(reason, 'store_full') || /No space left on device/.test(message)
  const code = reason instanceof StoreFault ? reason.code : 'data_dir_unusable'
  return { kind: 'refused', code: isFull ? 'store_full' : code, message }
}

const STATEMENTS_BETWEEN_CHECKS = 1000
const CHECK_EVERY_MS = 60_000

function serve(engine: Engine): void {
  let tail = Promise.resolve()
  let isIdle = true
  let statements = 0

  async function lookAfter(): Promise<void> {
    statements = 0
    try {
      await maintain(engine)
    } catch (error) {
      tell({
        kind: 'log',
        level: 'warn',
        message: 'upkeep of the embedded database failed',
        fields: { error: String(error) },
      })
    }
  }

  async function handle(message: ToWorker): Promise<void> {
    switch (message.kind) {
      case 'bytes': {
        const bytes = await engine.exchange(message.bytes)
        isIdle = endsIdle(bytes)
        tell({ kind: 'bytes', connection: message.connection, bytes }, [bytes.buffer])
        if (++statements >= STATEMENTS_BETWEEN_CHECKS && isIdle) await lookAfter()
        return
      }
      case 'hang-up':
        await engine.run('rollback')
        await engine.run('discard all')
        isIdle = true
        return
      case 'close':
        clearInterval(timer)
        await engine.close()
        process.exit(0)
    }
  }

  // One after the other: the worker's own statements must not slip between the messages of a connection.
  const enqueue = (work: () => Promise<void>) => {
    tail = tail.then(work).catch(die)
  }
  const timer = setInterval(() => enqueue(async () => void (isIdle && (await lookAfter()))), CHECK_EVERY_MS)
  port.on('message', (message: ToWorker) => enqueue(() => handle(message)))
  tell({ kind: 'ready', version: engine.version })
  enqueue(lookAfter)
}

// ReadyForQuery with status I: the session waits for a command and no transaction is open.
const READY_AND_IDLE = Buffer.from('Z\0\0\0\x05I')

function endsIdle(bytes: Uint8Array): boolean {
  return READY_AND_IDLE.equals(bytes.subarray(-READY_AND_IDLE.length))
}

const onLine = (line: string) => tell({ kind: 'log', level: 'debug', message: 'postgres', fields: { line } })
const engine = await openEngine({ dataDir, onLine, onDeath: die }).catch(die)
isServing = true
serve(engine)
