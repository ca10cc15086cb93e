import type pg from 'pg'
import type { Log } from '../base/log.ts'
import type { Backend } from './backend.ts'
import { asStoreProblem, isConnectionLost, StoreFault } from './fault.ts'
import { hostsOf } from './hosts.ts'
import { createConnectionPool, isStandbyMet } from './pool.ts'

type PostgresOptions = {
  readonly url: string
  readonly poolSize?: number
  readonly waitMsMax?: number
  readonly statementMsMax?: number
  readonly log: Log
}

const POOL_SIZE = 10
/** For a connection: one that is busy, or one that is being opened. */
const WAIT_MS_MAX = 5_000
/**
 * The server gives up a statement after five seconds, and we give up a server after one more: time enough for its own word to arrive,
 * which leaves the connection usable. A paid request is answered within eight seconds, so one silence, and the look that follows it
 * on another connection, still fit into it.
 */
export const STATEMENT_MS_MAX = 5_000
const ANSWER_MARGIN_MS = 1_000
/** What a client that vanished has locked is free again after this. */
const IDLE_IN_TRANSACTION_MS_MAX = 10_000
/** The first question of the system's own, when nothing passes; it finds out within minutes what no query waits for. */
const KEEP_ALIVE_MS = 10_000
const VERSION_MIN = 150_000
/** A pool stands between us and the server, and gives out its sessions for one transaction at a time. Others call it so in the URL, too. */
const SHARED = /[?&]pgbouncer=true(?:&|$)/

/** A pool of connections to a PostgreSQL server that several replicas may share. Refuses a server that cannot do its part. */
export async function openPostgres(options: PostgresOptions): Promise<Backend> {
  const { url, poolSize = POOL_SIZE, waitMsMax = WAIT_MS_MAX, statementMsMax = STATEMENT_MS_MAX, log } = options
  const keepsSessions = !SHARED.test(url)
  const hosts = hostsOf(url)
  const pool = createConnectionPool(
    {
      max: poolSize,
      connectionTimeoutMillis: waitMsMax,
      query_timeout: answerMsMax(statementMsMax),
      ...(keepsSessions ? limitsOf(statementMsMax) : {}),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      application_name: 'sutler',
    },
    log,
    hosts,
  )
  const place = placeOf(url)
  try {
    const server = await askServer(pool, hosts.count - 1)
    refuseUnsuitable(server, place, log)
    if (!keepsSessions) warnUnlimited(server, place, log)
    return {
      engine: 'postgres',
      description: `PostgreSQL ${server.version} at ${place}`,
      pool,
      hosts: hosts.count,
      keepsSessions,
      ensureRoom: () => {},
      freeBytes: () => null,
      close: () => pool.end(),
    }
  } catch (error) {
    await pool.end()
    if (error instanceof Error && /unsupported startup parameter/.test(error.message))
      throw new StoreFault(
        'server_unsuitable',
        `${place} is a PgBouncer; add pgbouncer=true to the query of the database URL, so that nothing is kept in its sessions`,
        { cause: error },
      )
    if (isStandbyMet(error)) throw standbyOnly(place)
    throw asStoreProblem(error)
  }
}

function standbyOnly(place: string): StoreFault {
  const detail = `${place} is a read-only standby; point the database URL at the primary, or name all servers: postgres://…@one,two/…`
  return new StoreFault('server_unsuitable', detail)
}

function limitsOf(
  statementMsMax: number,
): Pick<pg.PoolConfig, 'statement_timeout' | 'idle_in_transaction_session_timeout'> {
  return { statement_timeout: statementMsMax, idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX }
}

/** How long we wait for what the server itself gives up after so long. */
export function answerMsMax(statementMsMax: number): number {
  return statementMsMax + ANSWER_MARGIN_MS
}

type Server = {
  readonly version: string
  readonly version_num: number
  readonly is_standby: boolean
  readonly fsync: string
  readonly synchronous_commit: string
  readonly statement_timeout: string
}

/** Each address once. Which of them is the primary is found out on the way. */
async function askServer(pool: pg.Pool, othersLeft: number): Promise<Server> {
  try {
    const { rows } = await pool.query<Server>(SERVER)
    return rows[0]!
  } catch (error) {
    if (othersLeft === 0 || !isConnectionLost(error)) throw error
    return askServer(pool, othersLeft - 1)
  }
}

const SERVER = `
  select current_setting('server_version') as version,
         current_setting('server_version_num')::int as version_num,
         pg_is_in_recovery() as is_standby,
         current_setting('fsync') as fsync,
         current_setting('synchronous_commit') as synchronous_commit,
         current_setting('statement_timeout') as statement_timeout`

/** A server that is too old, cannot write or forgets is found out at the start, not by the first order. */
export function refuseUnsuitable(server: Omit<Server, 'statement_timeout'>, place: string, log: Log): void {
  if (server.version_num < VERSION_MIN) {
    throw new StoreFault(
      'server_unsuitable',
      `${place} runs PostgreSQL ${server.version}; version 15 or later is needed`,
    )
  }
  // Only a pool between us and the server keeps it from saying so as soon as it is there.
  if (server.is_standby) throw standbyOnly(place)
  if (server.fsync === 'off' || server.synchronous_commit === 'off') {
    log.warn('this server may lose payments in a power cut: turn on fsync and synchronous_commit', { place })
  }
}

/** Transactions bring their limit along; a statement alone has only what the server gives to everybody who comes. */
function warnUnlimited({ statement_timeout }: Server, place: string, log: Log): void {
  if (statement_timeout === '0')
    log.warn("a statement may run for ever here: alter role … set statement_timeout = '5s'", { place })
}

/** Host, port and database, without user and password. */
function placeOf(url: string): string {
  const [, host, path] = /^\w+:\/\/(?:[^@/]*@)?([^/?]*)(\/[^?]*)?/.exec(url) ?? []
  return `${host || 'a local socket'}${path ?? ''}`
}
