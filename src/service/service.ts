import { startServer } from '../api/http/server.ts'
import type { Config } from '../config/config.ts'
import { type Assembly, assemble } from './assemble.ts'
import type { Parts } from './parts.ts'

export type Service = Pick<Assembly, 'checkout' | 'operations' | 'routes' | 'operatorRoutes' | 'database'> & {
  /** Where it listens, on this machine. */
  readonly url: string
  readonly port: number
  /** While there is no admin: a link that makes whoever uses it the first. Null otherwise. */
  firstLink(): Promise<string | null>
  /** Is there no admin yet? */
  isUnfounded(): Promise<boolean>
  /** Says that it stops, stops accepting, finishes or hands over what is under way, closes the store. */
  stop(): Promise<void>
}

export async function startService(config: Config, parts: Parts = {}): Promise<Service> {
  const { http, limits } = config
  const shop = await assemble(config, parts)
  const { app, checkout, operations, meter, routes, operatorRoutes, database, clock, log } = shop
  await shop.begin()
  const server = await startServer({ app, http, limits, log, onTurnedAway: meter.limited })
  const { port } = server
  return {
    url: `http://${http.host.includes(':') ? `[${http.host}]` : http.host}:${port}`,
    port,
    firstLink: shop.firstLink,
    isUnfounded: shop.isUnfounded,
    checkout,
    operations,
    routes,
    operatorRoutes,
    database,
    async stop() {
      // Whoever sends requests here is told first, and sends the next ones elsewhere.
      operations.health.leave()
      const { drainSeconds } = config.operations
      if (drainSeconds > 0) await clock.sleep(drainSeconds * 1000)
      const timer = new AbortController()
      const timeUp = clock.sleep(limits.drainMsMax, timer.signal).then(() => 'late' as const)
      // What is cut off here goes on elsewhere, or at the next start: every step is written down before it is taken.
      if ((await Promise.race([shop.end(server.drain), timeUp])) === 'late') log.warn('stopped with work under way')
      timer.abort()
      await server.close()
      if (!parts.database) await database.close()
    },
  }
}
