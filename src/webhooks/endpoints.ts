import { newId, type Random } from '../base/id.ts'
import { Problem } from '../base/problem.ts'
import type { Secret } from '../base/secret.ts'
import type { EventType } from '../domain/event.ts'
import type { Database, Transaction } from '../store/db.ts'
import { type Deed, type Doer, recordDeeds } from '../store/deeds.ts'
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
  add(doer: Doer, endpoint: NewWebhook): Promise<{ readonly endpoint: Endpoint; readonly secret: Secret }>
  list(): Promise<readonly Endpoint[]>
  remove(doer: Doer, id: string): Promise<void>
  /** A new secret; the old one signs beside it for another day. */
  rotate(doer: Doer, id: string): Promise<{ readonly endpoint: Endpoint; readonly secret: Secret }>
  enable(doer: Doer, id: string): Promise<Endpoint>
  disable(doer: Doer, id: string, reason: string): Promise<Endpoint>
  /** Sends again what was given up, or everything, after a position of the log. Returns how many messages. */
  replay(doer: Doer, id: string, range: { readonly after: bigint; readonly which: 'dead' | 'all' }): Promise<number>
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

type WebhookParts = {
  readonly db: Database
  readonly random: Random
  readonly resolve: Resolve
  readonly policy: TargetPolicy
  /** Called when an endpoint was added or enabled, or has something to hear again. */
  onChanged(): void
}

export function createWebhooks(parts: WebhookParts): Webhooks {
  const { db, random, onChanged } = parts
  return {
    async add(doer, wish) {
      const added = await addEndpoint(parts, doer, wish)
      onChanged()
      return added
    },
    list: () => listEndpoints(db),
    async remove(doer, id) {
      await change(db, doer, { id, deed: 'webhook.removed' }, (tx) => deleteEndpoint(tx, id).then(() => null))
    },
    async rotate(doer, id) {
      const secret = newWebhookSecret(random)
      const rotated = await change(db, doer, { id, deed: 'webhook.rotated' }, (tx) =>
        rotateSecret(tx, id, secret, OVERLAP_SECONDS),
      )
      return { endpoint: found(id, rotated), secret }
    },
    async enable(doer, id) {
      // What happened while it was disabled is for a replay.
      await pumpEvents(db)
      const enabled = await change(db, doer, { id, deed: 'webhook.enabled' }, (tx) =>
        setEndpointState(tx, id, 'enabled', null),
      )
      onChanged()
      return found(id, enabled)
    },
    async disable(doer, id, reason) {
      const disabled = await change(db, doer, { id, deed: 'webhook.disabled', reason }, (tx) =>
        setEndpointState(tx, id, 'disabled', reason),
      )
      return found(id, disabled)
    },
    async replay(doer, id, range) {
      found(id, await findEndpoint(db, id))
      await pumpEvents(db)
      const queued = await replay(db, doer, id, range)
      onChanged()
      return queued
    },
    async deliveries(id, filter) {
      found(id, await findEndpoint(db, id))
      return listDeliveries(db, id, filter)
    },
  }
}

async function addEndpoint(
  { db, random, resolve, policy }: WebhookParts,
  doer: Doer,
  { url, description, eventTypes }: NewWebhook,
): Promise<{ readonly endpoint: Endpoint; readonly secret: Secret }> {
  const target = readTarget(url, policy)
  await reachableAddress(target, resolve, policy).catch((cause) => {
    if (cause instanceof Problem) throw cause
    throw new Problem('invalid_request', `The webhook URL cannot be used: ${target.hostname} is not known.`, { cause })
  })
  if ((await listEndpoints(db)).length >= ENDPOINTS_MAX)
    throw new Problem('invalid_request', `There are ${ENDPOINTS_MAX} webhooks already; remove one first.`)
  // What happened before is not news to it.
  await pumpEvents(db)
  const secret = newWebhookSecret(random)
  const id = newId('whk', random)
  const endpoint = await db.transaction(async (tx) => {
    const added = await insertEndpoint(tx, { id, url: target.href, description, eventTypes, secret })
    await recordDeeds(tx, doer, [deedOf('webhook.added', null, added)])
    return added
  })
  return { endpoint, secret }
}

type EndpointDeed = { readonly id: string; readonly deed: string; readonly reason?: string }

/** With its deed, in one transaction. */
function change(
  db: Database,
  doer: Doer,
  { id, deed, reason }: EndpointDeed,
  make: (tx: Transaction) => Promise<Endpoint | null>,
): Promise<Endpoint | null> {
  return db.transaction(async (tx) => {
    const before = found(id, await findEndpoint(tx, id))
    const after = await make(tx)
    await recordDeeds(tx, doer, [{ ...deedOf(deed, before, after), reason }])
    return after
  })
}

function replay(db: Database, doer: Doer, id: string, range: Parameters<Webhooks['replay']>[2]): Promise<number> {
  return db.transaction(async (tx) => {
    const queued = await replayDeliveries(tx, id, { ...range, through: await lastPosition(tx) })
    const after = { after: range.after.toString(), which: range.which, queued }
    await recordDeeds(tx, doer, [{ deed: 'webhook.replayed', about: { kind: 'webhook', id }, before: null, after }])
    return queued
  })
}

function found<Found>(id: string, endpoint: Found | null): Found {
  if (endpoint === null) throw new Problem('webhook_not_found', `There is no webhook ${id.slice(0, 40)}.`)
  return endpoint
}

function deedOf(deed: string, before: Endpoint | null, after: Endpoint | null): Deed {
  return { deed, about: { kind: 'webhook', id: (before ?? after)!.id }, before: told(before), after: told(after) }
}

/** Without its secrets. */
function told(endpoint: Endpoint | null): Deed['before'] {
  if (!endpoint) return null
  const { url, description, eventTypes, state } = endpoint
  return { url, description, eventTypes, state }
}
