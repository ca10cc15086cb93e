import pg from 'pg'
import type { Log } from '../base/log.ts'

/** A pool of `pg` in which a broken connection is never more than a failed query. Idle connections stay, with their plans. */
export function createPool(config: pg.PoolConfig, log: Log): pg.Pool {
  const pool = new pg.Pool({ ...config, idleTimeoutMillis: 0 })
  // An idle connection that breaks leaves the pool by itself; whoever comes next gets a new one.
  pool.on('error', (error) => log.warn('idle database connection lost', { error }))
  // One that breaks in use fails its query, which is enough. Unheard, either event would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
