import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/id.ts'
import { silentLog } from '../../src/base/log.ts'
import { noWaypoint, type Waypoint } from '../../src/base/waypoint.ts'
import type { EventType } from '../../src/domain/event.ts'
import type { Database } from '../../src/store/db.ts'
import { RETRY_SECONDS } from '../../src/webhooks/endpoint-queue.ts'
import { createWebhooks, type Webhooks } from '../../src/webhooks/endpoints.ts'
import { systemResolve } from '../../src/webhooks/names.ts'
import { createPost } from '../../src/webhooks/post.ts'
import { startWebhookWorker, type WebhookWorker } from '../../src/webhooks/worker.ts'
import { tester } from '../support/doer.ts'
import { until } from '../support/until.ts'

/** The webhook part of a shop, on its own: a store, the worker, and endpoints on this machine. */
export type PostOffice = {
  readonly webhooks: Webhooks
  readonly worker: WebhookWorker
  add(url: string, eventTypes?: readonly EventType[] | null): Promise<string>
  insert(objects: number, changes: number): Promise<void>
  /** Time passes: whatever waits for its next try is due. */
  makeDue(): Promise<void>
}

const policy = { allowLoopback: true }

export type PostOfficeOptions = { readonly waypoint?: Waypoint; readonly retrySeconds?: readonly number[] }

export function openPostOffice(db: Database, options: PostOfficeOptions = {}): PostOffice {
  const { waypoint = noWaypoint, retrySeconds = RETRY_SECONDS } = options
  const parts = { db, clock: systemClock, random: systemRandom, log: silentLog, waypoint }
  const post = createPost({ clock: systemClock, resolve: systemResolve, policy })
  const worker = startWebhookWorker({ ...parts, post, retrySeconds, observe() {}, onPlaced() {} })
  const onChanged = worker.lookAround
  const webhooks = createWebhooks({ ...parts, post, resolve: systemResolve, policy, onChanged })
  return {
    webhooks,
    worker,
    async insert(objects, changes) {
      await insertEvents(db, objects, changes)
      worker.wake()
    },
    async makeDue() {
      await db.query(`update jobs set run_at = now() where kind like 'webhook/%' and lease is null`)
      worker.lookAround()
    },
    async add(url, eventTypes = null) {
      const { endpoint } = await webhooks.add(tester, { url, description: '', eventTypes })
      return endpoint.id
    },
  }
}

/** As a process does that comes after one that died: it takes up what that one held, and is done when all of six events are delivered. */
export async function deliverAll(db: Database, { webhooks, worker }: PostOffice): Promise<void> {
  // The leases of the one before run out.
  await db.query(`update jobs set run_at = now(), lease = null where kind like 'webhook/%'`)
  worker.lookAround()
  const [endpoint] = await webhooks.list()
  await until(async () => {
    const deliveries = await webhooks.deliveries(endpoint!.id, { limit: 100 })
    return deliveries.length === 6 && deliveries.every(({ state }) => state === 'delivered')
  })
}

/** So many changes of so many objects, each object's in its own order. */
export async function insertEvents(db: Database, objects: number, changes: number): Promise<void> {
  await db.query(
    `insert into events (subject, sequence, type, data)
     select 'ord_' || o, c, 'order.created', jsonb_build_object('orderId', 'ord_' || o)
     from generate_series(1, $2::int) c, generate_series(1, $1::int) o
     order by c, o`,
    [objects, changes],
  )
}
