import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import { type Clock, countdown } from '../base/clock.ts'
import type { DataFolder } from '../base/data-folder.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { Backend, EngineName } from './backend.ts'
import { openEmbedded } from './embedded/embedded.ts'
import { asStoreProblem, isConnectionLost, isTransient, StoreFault } from './fault.ts'
import { createLender } from './pool.ts'
import { answerMsMax, openPostgres, STATEMENT_MS_MAX } from './postgres.ts'
import { type Statement, statement } from './statement.ts'

export type DatabaseOptions = {
  /** `postgres://…`. Without it the embedded engine keeps its data in `dataDir`. */
  readonly url?: string
  readonly dataDir: string
  /** The same folder, when whoever opens the database has claimed it already. */
  readonly folder?: DataFolder
  /** Connections to PostgreSQL. The embedded engine always has one. */
  readonly poolSize?: number
  /** Callers that may wait for a connection; the next one is refused at once. */
  readonly queueMax?: number
  /** How long each of them waits. */
  readonly waitMsMax?: number
  /** How long a statement may run on PostgreSQL. We wait a second longer for its answer, then for no answer any more. */
  readonly statementMsMax?: number
  /** How long a connection may take, an idle one or a new one, after one of them has gone silent. */
  readonly doubtMsMax?: number
  /** Free disk space below which `ensureRoom` refuses. Only the embedded engine can see its disk. */
  readonly roomBytesMin?: number
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
}

/** `int8` and `numeric` arrive as strings, `timestamptz` as `Date`, `jsonb` parsed: the defaults of `pg`, on both engines. */
export type Result<Row> = { readonly rows: readonly Row[]; readonly rowCount: number | null }

/** A database or a transaction: whatever runs SQL. Statements are for the code, plain text for migrations and tools. */
export type Queryable = {
  query<Row>(sql: Statement<Row> | string, values?: readonly unknown[]): Promise<Result<Row>>
}

/** One statement at a time: await each before the next. */
export type Transaction = Queryable & { readonly __transaction: true }

/** What is written together with a change, or stops it by throwing: handed to whoever makes the change. */
export type Alongside = (tx: Transaction) => Promise<void>

type TransactionOptions = {
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable'
  readonly readOnly?: boolean
  readonly attemptsMax?: number
  /** How long `work` may take. On the embedded engine everybody else waits for it. */
  readonly workMsMax?: number
  /** How long one statement of it may run, where that is longer than requests may wait. */
  readonly statementMsMax?: number
}

export type DatabaseStatus = {
  readonly connections: number
  readonly idle: number
  readonly waiting: number
  /** Free disk space; null when the disk is the server's own business. */
  readonly freeBytes: number | null
}

export type Database = Queryable & {
  readonly engine: EngineName
  /** For people: which server or folder, which version. Holds no password. */
  readonly description: string
  /**
   * Runs `work` in one transaction and commits it. When the connection is lost or another transaction got in the way, the whole
   * of `work` runs again, so it must touch nothing but its transaction. A commit whose answer is lost may have happened:
   * unique keys must make the second run harmless.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** Throws `store_full` when little room is left. Ask before taking money; what was paid for may still be written. */
  ensureRoom(): void
  /** One round trip; throws `store_unavailable` when nobody answers. */
  ping(): Promise<void>
  status(): DatabaseStatus
  close(): Promise<void>
}

/** For a store that one process at a time can open: all that were held belonged to one that is gone, and their work is due now. A new store has no jobs yet. */
const END_ALL_LEASES = `
  do $$
  begin
    update jobs
    set lease = null,
        run_at = now()
    where lease is not null;
  exception when undefined_table then null;
  end $$`

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const backend = await openBackend(options)
  options.log.info('store opened', { engine: backend.engine, store: backend.description })
  const database = createDatabase(backend, options)
  // Where that cannot be written now, they run out by themselves.
  if (backend.engine === 'embedded')
    await database
      .query(END_ALL_LEASES)
      .catch((error: unknown) => options.log.warn('earlier leases could not be ended', { error }))
  return database
}

function openBackend(options: DatabaseOptions): Promise<Backend> {
  const { url } = options
  if (url === undefined) return openEmbedded(options)
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres({ ...options, url })
  throw new StoreFault('database_url_invalid', 'the database URL does not start with postgres://')
}

const ATTEMPTS_MAX = 5
/** A store that did not answer for so long is not asked once more on behalf of somebody who waits. */
const RETRY_MS_MAX = 6_500
const WORK_MS_MAX = 30_000
const QUEUE_MAX = 1000
const PING = statement('select 1')

/** `openDatabase` for a backend that is open already. */
export function createDatabase(backend: Backend, options: DatabaseOptions): Database {
  const { pool } = backend
  const { clock, random, queueMax = QUEUE_MAX, doubtMsMax } = options
  const lender = createLender(pool, { queueMax, hosts: backend.hosts, doubtMsMax })
  const engine: Engine = { lender, isNamed: backend.keepsSessions, running: new AsyncLocalStorage() }

  function refuseInside(what: string): void {
    if (engine.running.getStore()?.isOpen) {
      throw new TypeError(`${what} inside a transaction would wait for itself: use the transaction that was handed in`)
    }
  }

  async function query<Row>(sql: Statement<Row> | string, values?: readonly unknown[]): Promise<Result<Row>> {
    refuseInside('a query of the pool')
    let failure: unknown
    let client: pg.PoolClient | undefined
    try {
      client = await lender.connect()
      return await send(client, engine.isNamed ? sql : textOf(sql), values)
    } catch (error) {
      failure = error
      throw asStoreProblem(error)
    } finally {
      // `pool.query` would close the connection after any error, even a broken unique key.
      if (client) lender.takeBack(client, failure, isConnectionLost(failure))
    }
  }

  return {
    engine: backend.engine,
    description: backend.description,
    query,
    async transaction(work, settings = {}) {
      refuseInside('a second transaction')
      const { attemptsMax = ATTEMPTS_MAX, statementMsMax: retryMsMax = RETRY_MS_MAX } = settings
      const left = countdown(clock, retryMsMax)
      for (let round = 1; ; round++) {
        try {
          return await attempt(engine, work, settings)
        } catch (error) {
          const isTooLate = round >= attemptsMax || left() <= 0
          if (isTooLate || !isTransient(error)) throw asStoreProblem(error)
          await clock.sleep(jitterMs(round, random))
        }
      }
    },
    ensureRoom: backend.ensureRoom,
    async ping() {
      await query(PING)
    },
    status: () => ({
      connections: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      freeBytes: backend.freeBytes(),
    }),
    close: backend.close,
  }
}

/** What transactions run on. */
type Engine = {
  readonly lender: ReturnType<typeof createLender>
  readonly isNamed: boolean
  /** Set while `work` of a transaction runs. On the embedded engine a pool query in there would wait for itself for ever. */
  readonly running: AsyncLocalStorage<{ isOpen: boolean }>
}

/** Once: begins, works, commits. */
async function attempt<T>(
  { lender, isNamed, running }: Engine,
  work: (tx: Transaction) => Promise<T>,
  settings: TransactionOptions,
): Promise<T> {
  const client = await lender.connect()
  const state = { isOpen: true }
  const { workMsMax = WORK_MS_MAX, statementMsMax } = settings
  let isLost = false
  let failure: unknown
  try {
    await client.query(beginText(isNamed ? settings : { statementMsMax: STATEMENT_MS_MAX, ...settings }))
    const handle = handleOf({ client, isNamed, state, statementMsMax })
    const result = await limited(running.run(state, work, handle), workMsMax)
    state.isOpen = false
    await commit(client)
    return result
  } catch (error) {
    state.isOpen = false
    failure = error
    isLost = error instanceof Overtime || isConnectionLost(error) || !(await rolledBack(client))
    throw error
  } finally {
    lender.takeBack(client, failure, isLost)
  }
}

function send<Row>(
  client: pg.PoolClient,
  sql: Statement<Row> | string,
  values: readonly unknown[] | undefined,
  statementMsMax?: number,
): Promise<Result<Row>> {
  // The driver's types want a mutable array; it only reads it.
  const list = values as unknown[] | undefined
  const patience = statementMsMax === undefined ? {} : { query_timeout: answerMsMax(statementMsMax) }
  const config =
    typeof sql === 'string' || isLong(values)
      ? { text: textOf(sql), values: list, ...patience }
      : { name: sql.name, text: sql.text, values: list, ...patience }
  return client.query(config as pg.QueryConfig) as Promise<pg.QueryResult & Result<Row>>
}

const SHORT_MAX = 100

/** A plan that is kept was made for short lists: joined with a table row by row, ten thousand transfers would take minutes. */
function isLong(values: readonly unknown[] | undefined): boolean {
  return values?.some((value) => Array.isArray(value) && value.length > SHORT_MAX) ?? false
}

/** Without its name nobody keeps it. */
function textOf<Row>(sql: Statement<Row> | string): string {
  return typeof sql === 'string' ? sql : sql.text
}

function handleOf({ client, isNamed, state, statementMsMax }: Begun): Transaction {
  return {
    __transaction: true,
    async query(sql, values) {
      // A promise that nobody awaited would otherwise run its statement in somebody else's transaction.
      if (!state.isOpen) throw new TypeError('this transaction has ended')
      return send(client, isNamed ? sql : textOf(sql), values, statementMsMax)
    },
  }
}

type Begun = {
  readonly client: pg.PoolClient
  readonly isNamed: boolean
  readonly state: { readonly isOpen: boolean }
  readonly statementMsMax: number | undefined
}

async function commit(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query('commit')
  // After a failed statement the server turns `commit` into a rollback and calls that a success.
  if (command !== 'COMMIT') throw new TypeError('a statement of this transaction failed and its error was swallowed')
}

async function rolledBack(client: pg.PoolClient): Promise<boolean> {
  try {
    await client.query('rollback')
    return true
  } catch {
    return false
  }
}

async function limited<T>(work: Promise<T>, ms: number): Promise<T> {
  const overtime = Promise.withResolvers<never>()
  const timer = setTimeout(() => overtime.reject(new Overtime(ms)), ms)
  try {
    return await Promise.race([work, overtime.promise])
  } finally {
    clearTimeout(timer)
  }
}

function beginText({ isolation, readOnly, statementMsMax }: TransactionOptions): string {
  const begin = `begin${isolation ? ` isolation level ${isolation}` : ''}${readOnly ? ' read only' : ''}`
  if (statementMsMax === undefined) return begin
  // Between two of its statements, the other side of a copy may have one just as long.
  return `${begin}; set local statement_timeout = ${statementMsMax}; set local idle_in_transaction_session_timeout = ${statementMsMax}`
}

/** 0 to 20 ms, then 0 to 40, 80, 160: callers that collided once do not meet again. */
function jitterMs(round: number, random: Random): number {
  return (random.bytes(1)[0]! / 255) * 10 * 2 ** round
}

class Overtime extends Error {
  constructor(ms: number) {
    super(`a transaction was rolled back after ${ms} ms: its work must do nothing but query`)
    this.name = 'Overtime'
  }
}
