import pg from 'pg'
import type { Log } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import { isConnectionLost, isSilent } from './fault.ts'
import type { Hosts } from './hosts.ts'

/** A pool of `pg` in which a broken connection is never more than a failed query. Idle connections stay, with their plans, and keep no process alive. */
export function createConnectionPool(config: pg.PoolConfig, log: Log, hosts?: Hosts): pg.Pool {
  const pool = new pg.Pool({
    ...config,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
    ...(hosts ? { Client: primaryClient(hosts) } : {}),
  })
  // An idle connection that breaks leaves the pool by itself; whoever comes next gets a new one.
  pool.on('error', (error) => log.warn('idle database connection lost', { error }))
  // One that breaks in use fails its query, which is enough. Unheard, either event would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** What the server says of itself as soon as it is there (14 and later): without another question, a standby is known from the primary. */
const STANDBY = 'in_hot_standby'

/**
 * Connections that lead to the primary, wherever it is now. A standby is never kept: it would answer readers with what is past, and such a
 * session would go on, unasked, when its server is promoted.
 */
function primaryClient(hosts: Hosts): typeof pg.Client {
  return class PrimaryClient extends pg.Client {
    readonly #url: string
    constructor(config: pg.ClientConfig = {}) {
      const url = hosts.current()
      super({ ...config, connectionString: url })
      this.#url = url
    }

    override connect(): Promise<this>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<this> | undefined {
      if (!callback) throw new TypeError('only the pool connects')
      let isStandby = false
      // Types of the driver leave out its wire, which its own pool uses as well.
      const { connection } = this as unknown as { connection: NodeJS.EventEmitter }
      connection.on('parameterStatus', ({ parameterName, parameterValue }: Record<string, string>) => {
        if (parameterName === STANDBY) isStandby = parameterValue === 'on'
      })
      super.connect((error: Error | null) => {
        if (!error && !isStandby) return callback(null as unknown as Error)
        hosts.passOver(this.#url)
        if (error) return callback(error)
        this.end().catch(() => {})
        callback(new StandbyMet())
      })
      return undefined
    }
  }
}

/** Like a write on it, which a standby refuses with the same code. */
class StandbyMet extends Error {
  readonly code = '25006'
  constructor() {
    super('the server is a standby and takes no writes')
    this.name = 'StandbyMet'
  }
}

export function isStandbyMet(error: unknown): boolean {
  return error instanceof StandbyMet
}

/** How long an idle connection, and a new one, may take once there was a silence: a server that is there answers within milliseconds. */
const DOUBT_MS_MAX = 1_500

type LenderOptions = { readonly queueMax: number; readonly hosts: number; readonly doubtMsMax?: number | undefined }

/** Hands out connections, and distrusts them all when one of them goes silent. */
type Lender = {
  /** Throws `overloaded` when too many wait already. */
  connect(): Promise<pg.PoolClient>
  /** Whatever a connection was used for, this is how it came back. */
  takeBack(client: pg.PoolClient, failure: unknown, isLost: boolean): void
}

/**
 * A network may swallow packets without a word: a firewall forgets a connection, a proxy hangs. Nothing is ever reset then, and each
 * pooled connection would cost its next user a time-out.
 */
export function createLender(pool: pg.Pool, options: LenderOptions): Lender {
  const { queueMax, hosts, doubtMsMax = DOUBT_MS_MAX } = options
  let isInDoubt = false

  /** Whoever refuses at once may have a sister that does not. Silence has taken too long already: the next caller asks the next one. */
  async function take(triesLeft: number): Promise<pg.PoolClient> {
    try {
      return await (isInDoubt ? soon(pool.connect(), doubtMsMax) : pool.connect())
    } catch (error) {
      if (triesLeft === 0 || isSilent(error) || !isConnectionLost(error)) throw error
      return take(triesLeft - 1)
    }
  }

  async function probe(): Promise<void> {
    const client = await pool.connect()
    const question = { text: 'select 1', query_timeout: doubtMsMax }
    await client.query(question as pg.QueryConfig).then(
      () => client.release(),
      () => client.release(true),
    )
  }

  /** One got no answer at all: idle ones are asked for a sign of life, all at once, before anybody gets them; those that give none are dropped. */
  function distrust(): void {
    isInDoubt = true
    // They are taken in this very moment: whoever comes next waits for one that has answered, or for a new one.
    for (let idle = pool.idleCount; idle > 0; idle--) probe().catch(() => {})
  }

  return {
    async connect() {
      if (pool.waitingCount >= queueMax) throw new Problem('overloaded', 'Too many requests wait for the store.')
      try {
        return await take(hosts - 1)
      } catch (error) {
        if (isSilent(error)) distrust()
        throw error
      }
    },
    takeBack(client, failure, isLost) {
      client.release(isLost)
      if (isSilent(failure)) distrust()
      else if (!isLost) isInDoubt = false
    },
  }
}

/** A connection that comes too late goes back to the pool. */
async function soon(connecting: Promise<pg.PoolClient>, ms: number): Promise<pg.PoolClient> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('timeout exceeded while the store is in doubt')), ms)
  try {
    return await Promise.race([connecting, late.promise])
  } catch (error) {
    connecting.then((client) => client.release()).catch(() => {})
    throw error
  } finally {
    clearTimeout(timer)
  }
}
