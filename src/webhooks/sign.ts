import { createHmac } from 'node:crypto'
import { isoTime } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import { stringify } from '../base/json.ts'
import { Secret } from '../base/secret.ts'
import type { LoggedEvent } from '../store/events.ts'

// Standard Webhooks (standardwebhooks.com): three headers, and a signature over id, time and body.

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

export function newWebhookSecret(random: Random): Secret {
  return new Secret(PREFIX + Buffer.from(random.bytes(SECRET_BYTES)).toString('base64'))
}

/** The object as its buyer sees it, with the number of the change; no credential and nothing else of ours is in there. */
export function bodyOf({ type, at, data, sequence }: LoggedEvent): string {
  return stringify({ type, timestamp: isoTime(at), data: { ...data, sequence } })
}

type Signed = { readonly id: string; readonly body: string; readonly atMs: number }

/** Every secret signs: during a rotation the receiver may know the old one or the new one. */
export function signedHeaders({ id, body, atMs }: Signed, secrets: readonly Secret[]): Record<string, string> {
  const seconds = Math.floor(atMs / 1000)
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.reveal().slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') }
}
