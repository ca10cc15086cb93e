import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { Database } from '../store/db.ts'
import { type Job, release } from '../store/jobs.ts'
import {
  type DeliveryState,
  finishQueue,
  nextDeliveries,
  type PendingDelivery,
  recordDelivery,
} from '../store/webhooks/deliveries.ts'
import { type Endpoint, findEndpoint, GONE_REASON, setEndpointState } from '../store/webhooks/endpoints.ts'
import { type Post, sendTo } from './post.ts'
import { bodyOf } from './sign.ts'

export type QueueParts = {
  readonly db: Database
  readonly post: Post
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly waypoint: Waypoint
  /** Pauses after the first, second … try that failed; then the message is a dead letter. */
  readonly retrySeconds: readonly number[]
  observe(outcome: 'delivered' | 'failed' | 'dead', ms: number): void
}

const SECOND = 1
const MINUTE = 60
const HOUR = 3600

/** 72 hours in all. */
export const RETRY_SECONDS: readonly number[] = [
  5 * SECOND,
  MINUTE,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  20 * HOUR,
]

/** A queue is held no longer than this before others have their turn; with one answer that takes its full time it is still leased. */
const TURN_MS = 10_000
const TURN_DELIVERIES = 10
export const LEASE_SECONDS = 30

/** 410: the receiver says that it is gone. */
const GONE = 410

/**
 * Sends what one endpoint has to hear of one object, oldest first, and stops at the first that fails: a later change is never told before
 * an earlier one. Killed anywhere, the queue becomes due again and repeats at most the message whose answer was not written down.
 */
export async function workQueue(parts: QueueParts, endpoint: Endpoint, job: Job, stop: AbortSignal): Promise<void> {
  const { db, clock } = parts
  const until = clock.now() + TURN_MS
  const pending = await nextDeliveries(db, endpoint.id, job.key, TURN_DELIVERIES)
  for (const delivery of pending) {
    if (stop.aborted || clock.now() >= until) return giveBack(parts, job, 0)
    const verdict = await deliver({ parts, endpoint, job, stop }, delivery)
    if (verdict === 'lost') return
    if (typeof verdict === 'object') return giveBack(parts, job, verdict.pauseSeconds)
  }
  const isEmpty = pending.length < TURN_DELIVERIES
  if (!isEmpty || !(await finishQueue(db, job, job.payload))) await giveBack(parts, job, 0)
}

async function giveBack({ db }: QueueParts, job: Job, pauseSeconds: number): Promise<void> {
  await release(db, job, pauseSeconds)
}

/** `told`: on to the next one. A pause: the queue waits. `lost`: somebody else has the queue. */
type Verdict = 'told' | 'lost' | { readonly pauseSeconds: number }

type Turn = {
  readonly parts: QueueParts
  readonly endpoint: Endpoint
  readonly job: Job
  readonly stop: AbortSignal
}

async function deliver({ parts, endpoint, job, stop }: Turn, pending: PendingDelivery): Promise<Verdict> {
  const { event, attempts, eventKey } = pending
  const { db, clock, post, waypoint, log, observe } = parts
  const answer = await sendTo({ post, clock }, endpoint, { id: event.id, body: bodyOf(event) }, stop)
  if (stop.aborted && answer.status === null) return { pauseSeconds: 0 }
  await waypoint('webhook.sent')
  const isTold = answer.status !== null && answer.status >= 200 && answer.status < 300
  const pause = parts.retrySeconds[attempts]
  const state: DeliveryState = isTold ? 'delivered' : pause === undefined ? 'dead' : 'pending'
  if (!(await recordDelivery(db, job, { endpointId: endpoint.id, eventKey, state, answer }))) return 'lost'
  await waypoint('webhook.recorded')
  observe(state === 'pending' ? 'failed' : state, answer.ms)
  if (state === 'delivered') return 'told'
  log.warn('webhook not delivered', {
    endpointId: endpoint.id,
    eventId: event.id,
    attempts: attempts + 1,
    status: answer.status,
    state,
  })
  if (answer.status === GONE) {
    await setEndpointState(db, endpoint.id, 'disabled', GONE_REASON)
    return { pauseSeconds: 0 }
  }
  return pause === undefined ? 'told' : { pauseSeconds: pause * (0.8 + 0.4 * chance(parts.random)) }
}

/** 0 to 1: receivers that failed together are not tried again together. */
function chance(random: Random): number {
  return random.bytes(1)[0]! / 255
}

/** The endpoint as it is now; null when it is told nothing. */
export async function enabledEndpoint(db: Database, id: string): Promise<Endpoint | null> {
  const endpoint = await findEndpoint(db, id)
  return endpoint?.state === 'enabled' ? endpoint : null
}
