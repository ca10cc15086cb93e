import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../base/id.ts'
import type { Secret } from '../../base/secret.ts'
import type { Terms } from '../../domain/rail.ts'
import { bodyDigest, claimIn } from './terms.ts'
import type { Payload } from './wire.ts'

/**
 * The claim in a challenge is a word that only this caller is told, and that every client sends back with `accepted`. It proves what was quoted:
 * a keyed digest over the request, the price and the end. So any replica with the secret knows its quote again without storing it.
 */
export type Claims = {
  issue(terms: Terms): string
  /** The claim of a payment, if we issued it for the price that the payment echoes. */
  ofOurs(payload: Payload): Claim | null
}

type Claim = {
  readonly claim: string
  readonly price: bigint
  readonly endsAt: number
  /** Was it issued for this very request? A price question is none. */
  isFor(asked: Asked): boolean
}

type Asked = Omit<Terms, 'price'>

export type ClaimOptions = {
  /** The first issues claims; all of them are accepted (rotation). */
  readonly secrets: readonly [Secret, ...Secret[]]
  readonly ttlMs: number
  readonly now: () => number
  readonly random: Random
}

/** Where the four parts of it end. All of it is 64 letters, which `required.ts` can put in without encoding the document again. */
const NONCE_END = 10
const TIME_END = 16
const REQUEST_END = 32
const CLAIM_BYTES = 48

export const CLAIM_LETTERS = 64

export function createClaims({ secrets, ttlMs, now, random }: ClaimOptions): Claims {
  return {
    issue(terms) {
      const claim = Buffer.alloc(CLAIM_BYTES)
      claim.set(random.bytes(NONCE_END))
      claim.writeUIntBE(now() + ttlMs, NONCE_END, TIME_END - NONCE_END)
      claim.set(requestDigest(claim, terms), TIME_END)
      claim.set(keyedDigest(claim, terms.price.toString(), secrets[0]), REQUEST_END)
      return claim.toString('base64url')
    },
    ofOurs(payload) {
      const text = claimIn(payload)
      const { amount } = payload.accepted
      if (text?.length !== CLAIM_LETTERS || typeof amount !== 'string') return null
      const claim = Buffer.from(text, 'base64url')
      const isOurs = (secret: Secret) =>
        timingSafeEqual(claim.subarray(REQUEST_END), keyedDigest(claim, amount, secret))
      if (claim.length !== CLAIM_BYTES || !secrets.some(isOurs)) return null
      return {
        claim: claim.toString('base64url'),
        price: BigInt(amount),
        endsAt: claim.readUIntBE(NONCE_END, TIME_END - NONCE_END),
        isFor: (asked) => claim.subarray(TIME_END, REQUEST_END).equals(requestDigest(claim, asked)),
      }
    },
  }
}

/** With the nonce in it, nobody can look beforehand for two requests that share one. */
function requestDigest(claim: Buffer, asked: Asked): Buffer {
  const { url, scope } = asked.resource
  const request = JSON.stringify([claim.toString('hex', 0, NONCE_END), url, scope, bodyDigest(asked)])
  return hash('sha256', request, 'buffer').subarray(0, REQUEST_END - TIME_END)
}

function keyedDigest(claim: Buffer, price: string, secret: Secret): Buffer {
  const keyed = createHmac('sha256', secret.reveal()).update('x402 claim ').update(claim.subarray(0, REQUEST_END))
  return keyed
    .update(price)
    .digest()
    .subarray(0, CLAIM_BYTES - REQUEST_END)
}
