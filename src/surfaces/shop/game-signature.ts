import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../../base/secret.ts'

// How the shop and a studio's backend know each other: both sign with the secret they share. docs/game-backend.md tells it to studios.

export const TIMESTAMP_HEADER = 'sutler-timestamp'
export const SIGNATURE_HEADER = 'sutler-signature'

export type SignedRequest = {
  readonly method: 'GET' | 'POST'
  /** As sent, after the backend's own address: `/deliveries`. */
  readonly path: string
  readonly body: string
  readonly timestamp: number
}

/** Covers what is asked and when, so that a request caught on the way is of no use later or elsewhere. */
export function signRequest(secret: Secret, { method, path, body, timestamp }: SignedRequest): string {
  return sign(secret, `${timestamp}.${method}.${path}.${body}`)
}

/** Covers the request's signature too: an answer cannot be taken for the answer to something else. */
export function signAnswer(secret: Secret, requestSignature: string, status: number, body: string): string {
  return sign(secret, `${requestSignature}.${status}.${body}`)
}

export function isSignature(given: unknown, expected: string): given is string {
  if (typeof given !== 'string' || given.length !== expected.length) return false
  return timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}

function sign(secret: Secret, text: string): string {
  return `v1=${createHmac('sha256', secret.reveal()).update(text).digest('hex')}`
}
