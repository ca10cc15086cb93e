import { type Clock, isoTime } from '../base/clock.ts'
import { newId, type Random } from '../base/id.ts'
import { stringify } from '../base/json.ts'
import { Problem } from '../base/problem.ts'
import type { Secret } from '../base/secret.ts'
import type { EventType } from '../domain/event.ts'
import type { Database, Transaction } from '../store/db.ts'
import { type Deed, type Doer, recordDeed, recordDeeds } from '../store/deeds.ts'
import { lastPosition } from '../store/events.ts'
import {
  type DeliveryFilter,
  type LoggedDelivery,
  listDeliveries,
  type ReplayRange,
  replayDeliveries,
  type WebhookAnswer,
  type WebhookBacklog,
  webhookBacklog,
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
import { type Post, sendTo } from './post.ts'
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
  /** One message once more, with the id it had. Returns how many: one, or none when the endpoint is not to hear of it. */
  resend(doer: Doer, id: string, position: bigint): Promise<number>
  /** A message that means nothing, now, and what was answered. */
  test(doer: Doer, id: string): Promise<WebhookAnswer>
  deliveries(id: string, filter: DeliveryFilter): Promise<readonly LoggedDelivery[]>
  backlog(): Promise<readonly WebhookBacklog[]>
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
  readonly clock: Clock
  readonly post: Post
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
      const queued = await replay(db, doer, id, { ...range, through: await lastPosition(db) })
      onChanged()
      return queued
    },
    async resend(doer, id, position) {
      found(id, await findEndpoint(db, id))
      const queued = await replay(db, doer, id, { after: position - 1n, through: position, which: 'all' })
      onChanged()
      return queued
    },
    test: (doer, id) => tryOut(parts, doer, id),
    backlog: () => webhookBacklog(db),
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

function replay(db: Database, doer: Doer, id: string, range: ReplayRange): Promise<number> {
  return db.transaction(async (tx) => {
    const queued = await replayDeliveries(tx, id, range)
    const { which, through } = range
    const after = { after: range.after.toString(), through: through.toString(), which, queued }
    await recordDeeds(tx, doer, [{ deed: 'webhook.replayed', about: { kind: 'webhook', id }, before: null, after }])
    return queued
  })
}

/** Signed and carried like any other message; it is in no log, because nothing happened. */
async function tryOut({ db, random, clock, post }: WebhookParts, doer: Doer, id: string): Promise<WebhookAnswer> {
  const endpoint = found(id, await findEndpoint(db, id))
  const answer = await sendTo({ post, clock }, endpoint, {
    id: newId('msg', random),
    body: stringify({ type: 'webhook.test', timestamp: isoTime(clock.now()), data: { webhookId: id } }),
  })
  const after = { status: answer.status, ms: answer.ms }
  await recordDeed(db, doer, { deed: 'webhook.tested', about: { kind: 'webhook', id }, before: null, after })
  return answer
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
