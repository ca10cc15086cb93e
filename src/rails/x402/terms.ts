import { createHash, hash } from 'node:crypto'
import { type Address, sameAddress } from '../../base/address.ts'
import { canonical, type JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import type { Resource, Terms } from '../../domain/rail.ts'
import type { Payload, Requirements } from './wire.ts'

export type Money = {
  readonly network: string
  readonly chainId: number
  readonly asset: Address
  /** The token's EIP-712 domain, which the payer's wallet signs under. */
  readonly assetName: string
  readonly assetVersion: string
  readonly payTo: Address
  readonly maxTimeoutSeconds: number
}

/**
 * `paymentFlow: upfront` is the protocol's word for settle-before-deliver. It is the only entry we offer: given the choice, stock
 * clients pick the flow in which goods leave before the money is there.
 */
export function requirementsOf(money: Money, terms: Terms): Requirements {
  return {
    scheme: 'exact',
    network: money.network,
    amount: terms.price.toString(),
    asset: money.asset,
    payTo: money.payTo,
    maxTimeoutSeconds: money.maxTimeoutSeconds,
    extra: { name: money.assetName, version: money.assetVersion, paymentFlow: 'upfront' },
  }
}

/** What else a payment consists of is on the chain for all to read once it has landed; whoever knows the claim is the one who was asked. */
export function withClaim(requirements: Requirements, claim: string): Requirements {
  return { ...requirements, extra: { ...requirements.extra, claim } }
}

const CLAIM_LENGTH_MAX = 64

export function claimIn({ accepted }: Payload): string | null {
  const claim = (accepted['extra'] as JsonObject | undefined)?.['claim']
  return typeof claim === 'string' && claim !== '' && claim.length <= CLAIM_LENGTH_MAX ? claim : null
}

/** Compares what the client echoes and signs with what we would ask now. Prices are never read from the client. */
export function assertTerms(payload: Payload, expected: Requirements, terms: Terms): void {
  const { accepted, resource } = payload
  const { authorization } = payload.payload
  if (accepted['amount'] !== expected.amount || authorization.value !== expected.amount) {
    throw new Problem(
      'payment_amount_mismatch',
      `This request costs ${expected.amount} atomic units; the payment is for ${authorization.value}.`,
    )
  }
  const wrong = mismatch(accepted, expected)
  if (wrong)
    throw new Problem(
      'payment_terms_mismatch',
      `\`accepted.${wrong}\` is not what this route asks for; pay the challenge in this answer.`,
    )
  if (!sameAddress(authorization.to, expected.payTo)) {
    throw new Problem(
      'payment_terms_mismatch',
      `The payment goes to ${authorization.to}; this shop is paid at ${expected.payTo}.`,
    )
  }
  if (resource.url !== terms.resource.url) {
    throw new Problem(
      'payment_terms_mismatch',
      `The payment is for another resource; this one is ${terms.resource.url}.`,
    )
  }
}

function mismatch(accepted: JsonObject, expected: Requirements): string | null {
  for (const key of ['scheme', 'network', 'maxTimeoutSeconds'] as const) if (accepted[key] !== expected[key]) return key
  for (const key of ['asset', 'payTo'] as const) if (!sameAddress(String(accepted[key]), expected[key])) return key
  const extra = accepted['extra'] as JsonObject | undefined
  for (const [key, value] of Object.entries(expected.extra)) if (extra?.[key] !== value) return `extra.${key}`
  return null
}

const SECONDS_TO_SETTLE = 6
const SECONDS_OF_SKEW = 60

export function assertWindow(payload: Payload, money: Money, nowMs: number): void {
  const { validAfter, validBefore } = payload.payload.authorization
  const now = BigInt(Math.floor(nowMs / 1000))
  if (BigInt(validAfter) > now)
    throw new Problem('payment_expired', 'The payment is not valid yet; sign one that is valid now.')
  if (BigInt(validBefore) < now + BigInt(SECONDS_TO_SETTLE)) {
    throw new Problem(
      'payment_expired',
      `The payment runs out too soon to be settled; leave at least ${SECONDS_TO_SETTLE} seconds.`,
    )
  }
  // A payment that stays valid for long is a bearer cheque, and we would have to watch for it as long.
  if (BigInt(validBefore) > now + BigInt(money.maxTimeoutSeconds + SECONDS_OF_SKEW)) {
    throw new Problem(
      'payment_terms_mismatch',
      `The payment is valid for longer than the ${money.maxTimeoutSeconds} seconds asked for.`,
    )
  }
}

// All of these travel in headers, both ways, and clients read `info` only; so the schemas say no more than they must.

const MPPX_SCHEMA = { type: 'object', required: ['method'] }

const PAYMENT_IDENTIFIER = {
  info: { required: false },
  schema: {
    type: 'object',
    properties: { id: { type: 'string', minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' } },
    required: ['required'],
  },
}

/** Each extension is `{ info, schema }`: mppx drops all of them when one is not. */
export function extensionsOf(resource: Resource, digest: string | null): JsonObject {
  return {
    ...(resource.discovery ? { bazaar: resource.discovery() } : {}),
    'payment-identifier': PAYMENT_IDENTIFIER,
    mppx: { info: { method: methodOf(resource), ...(digest ? { digest } : {}) }, schema: MPPX_SCHEMA },
  }
}

export function bodyDigest({ body, bodyIsBound }: Pick<Terms, 'body' | 'bodyIsBound'>): string | null {
  return body === null || !bodyIsBound ? null : `sha-256=${hash('sha256', body, 'base64')}`
}

function methodOf({ scope }: Resource): string {
  return scope.split(' ')[0]!
}

/**
 * mppx clients sign a nonce that commits to the terms and to the body's digest, so nobody on the way can swap the body under a
 * payment. Other clients only echo the extension, and sign no such thing.
 */
export function assertNonceCommitment(payload: Payload, terms: Terms): void {
  const info = (payload.extensions?.['mppx'] as { info?: Record<string, unknown> } | undefined)?.info
  if (info?.['nonce'] === undefined) return
  const parts = [payload.accepted, payload.resource, payload.extensions].map((part) =>
    Buffer.from(canonical(part)).toString('base64url'),
  )
  const committed = `0x${createHash('sha256').update(parts.join('|')).digest('hex')}`
  const digest = bodyDigest(terms) ?? undefined
  const bound = !terms.bodyIsBound || info['digest'] === digest
  if (
    committed !== payload.payload.authorization.nonce.toLowerCase() ||
    info['method'] !== methodOf(terms.resource) ||
    !bound
  ) {
    throw new Problem(
      'request_body_mismatch',
      'The payment was signed for another body or route; pay the challenge in this answer.',
    )
  }
}

const IDENTIFIER = /^[a-zA-Z0-9_-]{16,128}$/

export function paymentIdentifier(payload: Payload): string | undefined {
  const extension = payload.extensions?.['payment-identifier'] as { info?: { id?: unknown } } | undefined
  const id = extension?.info?.id
  if (id === undefined) return undefined
  if (typeof id === 'string' && IDENTIFIER.test(id)) return id
  throw new Problem(
    'payment_payload_invalid',
    'The payment-identifier must be 16 to 128 letters, digits, hyphens or underscores.',
  )
}
