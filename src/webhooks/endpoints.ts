import { newId, type Random } from '../base/id.ts'
import { Problem } from '../base/problem.ts'
import type { Secret } from '../base/secret.ts'
import type { EventType } from '../domain/event.ts'
import type { Database } from '../store/db.ts'
import { lastPosition } from '../store/events.ts'
import {
  type DeliveryFilter,
  type LoggedDelivery,
  listDeliveries,
  replayDeliveries,
} from '../store/webhooks/deliveries.ts'
import {
  deleteEndpoint,
  type Endpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  rotateSecret,
  setEndpointState,
} from '../store/webhooks/endpoints.ts'
import { pumpEvents } from './pump.ts'
import { newWebhookSecret } from './sign.ts'
import { type Resolve, reachableAddress, readTarget, type TargetPolicy } from './target.ts'

/** What the command line and the operator API do with webhooks. */
export type Webhooks = {
  /** The secret is told here and never again. */
  add(endpoint: NewWebhook): Promise<{ readonly endpoint: Endpoint; readonly secret: Secret }>
  list(): Promise<readonly Endpoint[]>
  remove(id: string): Promise<void>
  /** A new secret; the old one signs beside it for another day. */
  rotate(id: string): Promise<{ readonly endpoint: Endpoint; readonly secret: Secret }>
  enable(id: string): Promise<Endpoint>
  disable(id: string, reason: string): Promise<Endpoint>
  /** Sends again what was given up, or everything, after a position of the log. Returns how many messages. */
  replay(id: string, range: { readonly after: bigint; readonly which: 'dead' | 'all' }): Promise<number>
  deliveries(id: string, filter: DeliveryFilter): Promise<readonly LoggedDelivery[]>
}

type NewWebhook = {
  readonly url: string
  readonly description: string
  /** Null: every type. */
  readonly eventTypes: readonly EventType[] | null
}

const ENDPOINTS_MAX = 50
const OVERLAP_SECONDS = 24 * 3600

export function createWebhooks(options: {
  db: Database
  random: Random
  resolve: Resolve
  policy: TargetPolicy
  /** Called when an endpoint was added or enabled, or has something to hear again. */
  onChanged(): void
}): Webhooks {
  const { db, random, resolve, policy, onChanged } = options

  const found = <Found>(id: string, endpoint: Found | null): Found => {
    if (endpoint === null) throw new Problem('webhook_not_found', `There is no webhook ${id.slice(0, 40)}.`)
    return endpoint
  }

  return {
    async add({ url, description, eventTypes }) {
      const target = readTarget(url, policy)
      await reachableAddress(target, resolve, policy).catch((cause) => {
        if (cause instanceof Problem) throw cause
        throw new Problem('invalid_request', `The webhook URL cannot be used: ${target.hostname} is not known.`, {
          cause,
        })
      })
      if ((await listEndpoints(db)).length >= ENDPOINTS_MAX)
        throw new Problem('invalid_request', `There are ${ENDPOINTS_MAX} webhooks already; remove one first.`)
      // What happened before is not news to it.
      await pumpEvents(db)
      const secret = newWebhookSecret(random)
      const id = newId('whk', random)
      const endpoint = await insertEndpoint(db, { id, url: target.href, description, eventTypes, secret })
      onChanged()
      return { endpoint, secret }
    },
    list: () => listEndpoints(db),
    async remove(id) {
      found(id, (await deleteEndpoint(db, id)) || null)
    },
    async rotate(id) {
      const secret = newWebhookSecret(random)
      return { endpoint: found(id, await rotateSecret(db, id, secret, OVERLAP_SECONDS)), secret }
    },
    async enable(id) {
      // What happened while it was disabled is for a replay.
      await pumpEvents(db)
      const endpoint = found(id, await setEndpointState(db, id, 'enabled', null))
      onChanged()
      return endpoint
    },
    disable: async (id, reason) => found(id, await setEndpointState(db, id, 'disabled', reason)),
    async replay(id, { after, which }) {
      found(id, await findEndpoint(db, id))
      await pumpEvents(db)
      const queued = await replayDeliveries(db, id, { after, which, through: await lastPosition(db) })
      onChanged()
      return queued
    },
    async deliveries(id, filter) {
      found(id, await findEndpoint(db, id))
      return listDeliveries(db, id, filter)
    },
  }
}
