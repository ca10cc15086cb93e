import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { createDesk } from '../api/desk.ts'
import { createHttpApp } from '../api/http.ts'
import { noLimiter } from '../api/rate-limit.ts'
import type { Route } from '../api/route.ts'
import { routes } from '../api/routes.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Random, systemRandom } from '../base/id.ts'
import { createLog, type Log } from '../base/log.ts'
import { noWaypoint, type Waypoint } from '../base/waypoint.ts'
import type { RpcTransport } from '../chain/rpc.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { startWorker } from '../checkout/worker.ts'
import type { Config } from '../config/config.ts'
import { type Database, openDatabase } from '../store/db.ts'
import { claim, extend, release } from '../store/jobs.ts'
import { createJournal } from '../store/journal.ts'
import { migrate } from '../store/migrate.ts'
import { createOrders } from '../store/orders.ts'
import { createChains } from './chains.ts'
import { createCounter } from './counter.ts'
import { createRails } from './rails.ts'

/** What tests replace, and what the sandbox brings along. */
export type Parts = {
  readonly clock?: Clock
  readonly random?: Random
  readonly log?: Log
  readonly waypoint?: Waypoint
  /** Chains that live in this process, by id. */
  readonly transports?: ReadonlyMap<number, RpcTransport>
  /** A database that is open already; the service then leaves it open. */
  readonly database?: Database
  /** Routes of the sandbox. */
  readonly extraRoutes?: readonly Route[]
}

export type Service = {
  /** Where it listens, on this machine. */
  readonly url: string
  readonly port: number
  readonly checkout: Checkout
  readonly routes: readonly Route[]
  readonly database: Database
  /** Stops accepting, finishes or hands over what is under way, closes the store. */
  stop(): Promise<void>
}

/** The only place where all parts meet. */
export async function startService(config: Config, parts: Parts = {}): Promise<Service> {
  const { clock = systemClock, random = systemRandom, waypoint = noWaypoint, transports = new Map() } = parts
  const log = parts.log ?? createLog({ level: config.logLevel, clock, write: (line) => process.stderr.write(line) })
  const database = parts.database ?? (await openStore(config, { clock, random, log }))
  await migrate(database)

  const { limits } = config
  const chainOf = createChains({ limits, journal: createJournal(database), clock, log, waypoint, transports })
  const rails = createRails(config, chainOf, { limits, clock, log, waypoint, serviceName: config.service.name })
  const { counter, offers } = createCounter({ config, clock, log, database, chainOf, rails })
  const checkout: Checkout = {
    orders: createOrders(database),
    jobs: {
      claim: (limit, leaseSeconds) => claim(database, { kinds: ['order'], limit, leaseSeconds }),
      extend: (lease, leaseSeconds) => extend(database, lease, leaseSeconds),
      release: (lease, delaySeconds) => release(database, lease, delaySeconds),
    },
    offers,
    ensureRoom: () => database.ensureRoom(),
    clock,
    random,
    log,
    waypoint,
    limits,
    running: new Map(),
  }
  const desk = createDesk(checkout, config.http, [...rails.keys()])
  const table = [...routes(desk, counter), ...(parts.extraRoutes ?? [])]
  const app = createHttpApp({ routes: table, checkout, http: config.http, limits, limiter: noLimiter, random, log })
  const worker = startWorker(checkout)
  const server = await listen(app.fetch as Fetch, config)
  const { port } = server.address() as AddressInfo

  return {
    url: `http://${config.http.host.includes(':') ? `[${config.http.host}]` : config.http.host}:${port}`,
    port,
    checkout,
    routes: table,
    database,
    async stop() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      })
      await worker.stop()
      if (!parts.database) await database.close()
    },
  }
}

type Fetch = Parameters<typeof serve>[0]['fetch']

function openStore(config: Config, parts: { clock: Clock; random: Random; log: Log }): Promise<Database> {
  const { url, dataDir, poolSize } = config.store
  return openDatabase({ dataDir, poolSize, ...parts, ...(url === undefined ? {} : { url }) })
}

/** Slow senders are cut off: Node's defaults of one and five minutes let a few sockets hold everything. */
const HEADERS_MS = 10_000
const REQUEST_MS = 15_000

function listen(fetch: Fetch, { http, limits }: Config): Promise<Server> {
  return new Promise((resolve, reject) => {
    const serverOptions = {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: 1_000,
    }
    const server = serve({ fetch, hostname: http.host, port: http.port, serverOptions }, () =>
      resolve(server as Server),
    )
    server.once('error', reject)
  })
}
