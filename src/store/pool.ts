import pg from 'pg'
import type { Log } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import { isSilent } from './fault.ts'

/** A pool of `pg` in which a broken connection is never more than a failed query. Idle connections stay, with their plans. */
export function createPool(config: pg.PoolConfig, log: Log): pg.Pool {
  const pool = new pg.Pool({ ...config, idleTimeoutMillis: 0 })
  // An idle connection that breaks leaves the pool by itself; whoever comes next gets a new one.
  pool.on('error', (error) => log.warn('idle database connection lost', { error }))
  // One that breaks in use fails its query, which is enough. Unheard, either event would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** How long an idle connection, and a new one, may take once there was a silence: a server that is there answers within milliseconds. */
const DOUBT_MS_MAX = 1_500

/** Hands out connections, and distrusts them all when one of them goes silent. */
export type Lender = {
  /** Throws `overloaded` when too many wait already. */
  connect(): Promise<pg.PoolClient>
  /** Whatever a connection was used for, this is how it came back. */
  takeBack(client: pg.PoolClient, failure: unknown, isLost: boolean): void
}

/**
 * A network may swallow packets without a word: a firewall forgets a connection, a proxy hangs. Nothing is ever reset then, and each
 * pooled connection would cost its next user a time-out.
 */
export function createLender(pool: pg.Pool, queueMax: number): Lender {
  let isInDoubt = false

  async function probe(): Promise<void> {
    const client = await pool.connect()
    const question = { text: 'select 1', query_timeout: DOUBT_MS_MAX }
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
        return await (isInDoubt ? soon(pool.connect()) : pool.connect())
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
async function soon(connecting: Promise<pg.PoolClient>): Promise<pg.PoolClient> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('timeout exceeded while the store is in doubt')), DOUBT_MS_MAX)
  try {
    return await Promise.race([connecting, late.promise])
  } catch (error) {
    connecting.then((client) => client.release()).catch(() => {})
    throw error
  } finally {
    clearTimeout(timer)
  }
}
