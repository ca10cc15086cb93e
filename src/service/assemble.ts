import type { HttpApp } from '../api/http/serving.ts'
import type { ShopMeter } from '../api/operator/metrics.ts'
import type { OperatorRoute } from '../api/operator/route.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { startWorker } from '../checkout/worker.ts'
import type { Config } from '../config/config.ts'
import type { Route } from '../domain/route.ts'
import type { Database } from '../store/db.ts'
import { patiently } from '../store/patience.ts'
import { openDoor } from './door.ts'
import { openCheckout } from './opened-checkout.ts'
import type { Operations } from './operations.ts'
import { layGround, type Parts } from './parts.ts'
import { firstLink, isUnfounded } from './people-desk.ts'
import { keepTime } from './time.ts'

/** A shop that could sell, and waits to be told to begin: everything but the socket. */
export type Assembly = {
  readonly app: HttpApp
  readonly checkout: Checkout
  readonly operations: Operations
  readonly meter: ShopMeter
  readonly routes: readonly Route[]
  readonly operatorRoutes: readonly OperatorRoute[]
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  firstLink(): Promise<string | null>
  isUnfounded(): Promise<boolean>
  /** Opens the shop where its store is the one to sell from, and takes up what is open. */
  begin(): Promise<void>
  /** Begins nothing more. `answered` settles when everybody who was let in has their answer; only then does the work behind it end. */
  end(answered: () => Promise<void>): Promise<void>
}

/** The only place where all parts meet: the ground that the shop stands on, the checkout that sells, the door that requests come in by. */
export async function assemble(config: Config, parts: Parts = {}): Promise<Assembly> {
  const ground = await layGround(config, parts)
  const { database, patient, clock, ownClock, log } = ground
  const stopping = new AbortController()
  if (ownClock) await patiently(() => keepTime(ownClock, database, log, stopping.signal), { clock, log })
  const opened = await openCheckout(config, ground)
  const { checkout, operations, meter } = opened
  const { app, table, operatorRoutes, limiter } = await openDoor(config, ground, opened)
  let worker: ReturnType<typeof startWorker> | null = null
  return {
    app,
    checkout,
    operations,
    meter,
    routes: table,
    operatorRoutes,
    database,
    clock,
    log,
    firstLink: () => firstLink({ config, database: patient, clock, random: ground.random }),
    isUnfounded: () => isUnfounded({ config, database: patient }),
    async begin() {
      await operations.gate.open()
      if (ground.withoutWorker) return
      operations.gate.watch(stopping.signal)
      worker = startWorker(checkout)
      operations.start()
    },
    async end(answered) {
      stopping.abort()
      const halted = Promise.all([worker?.stop(), operations.stop(), limiter.stop()])
      await answered()
      await Promise.all([halted, ...checkout.running.values()])
    },
  }
}
