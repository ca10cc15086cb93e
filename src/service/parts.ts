import type { DoctorReport } from '../api/operator/system-rows.ts'
import { type Clock, type SyncedClock, syncedClock, systemClock } from '../base/clock.ts'
import { type Random, systemRandom } from '../base/id.ts'
import { type Log, stderrLog } from '../base/log.ts'
import { type Exchange, systemExchange } from '../base/outgoing.ts'
import { noWaypoint, type Waypoint } from '../base/waypoint.ts'
import type { RpcTransport } from '../chain/transport.ts'
import type { Config } from '../config/config.ts'
import { declareRails } from '../domain/rail.ts'
import type { Route } from '../domain/route.ts'
import type { RailKind } from '../rails/kind.ts'
import { rails as allRails } from '../rails/rails.ts'
import { type Database, openDatabase } from '../store/db.ts'
import { StoreFault } from '../store/fault.ts'
import { migrate, pendingMigrations } from '../store/migrate.ts'
import { refuseOtherMode, stampMode } from '../store/mode.ts'
import { patientDatabase, patiently } from '../store/patience.ts'
import type { Surface } from '../surfaces/surface.ts'
import type { Post } from '../webhooks/post.ts'
import type { Resolve } from '../webhooks/target.ts'
import { LOOK_MS } from './lookout.ts'
import { surfaces as allSurfaces } from './surfaces.ts'

/** What tests replace, and what the sandbox brings along. */
export type Parts = {
  readonly clock?: Clock
  readonly random?: Random
  readonly log?: Log
  readonly waypoint?: Waypoint
  /** Chains that live in this process, by id. */
  readonly transports?: ReadonlyMap<number, RpcTransport | readonly RpcTransport[]>
  /** All that can be sold, where that is more than what comes with the program. */
  readonly surfaces?: readonly Surface[]
  /** All ways to pay, where these are more than what comes with the program. */
  readonly rails?: readonly RailKind[]
  /** A database that is open already; the service then leaves it open. */
  readonly database?: Database
  /** Orders then move only while a request drives them. */
  readonly withoutWorker?: boolean
  /** Nothing is loaded before it is needed: for a process that will not live long, or may not sell anything. */
  readonly startsCold?: boolean
  /** How long a replica pauses between two looks around. */
  readonly lookMs?: number
  /** Asks game backends and facilitators. */
  readonly exchange?: Exchange
  /** Looks up the names of webhook receivers. */
  readonly resolve?: Resolve
  /** Carries webhooks to them. */
  readonly post?: Post
  /** Looks at everything from outside, for whoever asks at the desk. */
  readonly doctor?: () => Promise<DoctorReport>
  /** Runs when the store is up to date: the sandbox fills its shelves, and brings routes of its own. */
  readonly furnish?: (database: Database) => Promise<readonly Route[]>
}

/** The same with nothing left out, and a store that is open and up to date. */
export type Ground = Required<Omit<Parts, 'furnish' | 'resolve' | 'post' | 'doctor'>> & {
  readonly doctor: Parts['doctor']
  readonly resolve: Resolve | undefined
  readonly post: Post | undefined
  /** The store, for whatever is asked before anybody is let in: waits for it if it is away for a while. */
  readonly patient: Database
  /** Set by the store's time; null where the clock was handed in. */
  readonly ownClock: SyncedClock | null
  /** What was brought along beside the table. */
  readonly extraRoutes: readonly Route[]
}

export async function layGround(config: Config, parts: Parts): Promise<Ground> {
  const { random = systemRandom, exchange = systemExchange, waypoint = noWaypoint, surfaces = allSurfaces } = parts
  const { rails = allRails, transports = new Map(), withoutWorker = false, startsCold = false, resolve, post } = parts
  const { lookMs = LOOK_MS } = parts
  const ownClock = parts.clock ? null : syncedClock(systemClock)
  const clock = parts.clock ?? ownClock ?? systemClock
  const log = parts.log ?? stderrLog(config.logLevel, clock)
  declareRails(rails)
  const database = parts.database ?? (await openStore(config, { clock, random, log }))
  const patient = patientDatabase(database, { clock, log })
  await refuseOtherMode(patient, config.mode)
  await bringUpToDate(patient, config, log)
  await stampMode(patient, config.mode)
  const extraRoutes = (await parts.furnish?.(database)) ?? []
  const sources = { clock, ownClock, random, log, waypoint, exchange, resolve, post, doctor: parts.doctor }
  return { ...sources, database, patient, extraRoutes, transports, surfaces, rails, withoutWorker, startsCold, lookMs }
}

function openStore(config: Config, parts: { clock: Clock; random: Random; log: Log }): Promise<Database> {
  const { url, dataDir, poolSize } = config.store
  return patiently(() => openDatabase({ dataDir, poolSize, ...parts, ...(url === undefined ? {} : { url }) }), parts)
}

async function bringUpToDate(database: Database, { store }: Config, log: Log): Promise<void> {
  if (store.migrate === 'auto') {
    await migrate(database, { log })
    return
  }
  const pending = await pendingMigrations(database)
  if (pending.length === 0) return
  throw new StoreFault(
    'migration_pending',
    `the store lacks ${pending.join(', ')}; run \`sutler migrate\`, or set SUTLER_DB_MIGRATE=auto`,
  )
}
