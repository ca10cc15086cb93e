import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import type { JsonObject } from './json.ts'
import { stringify } from './json.ts'
import type { Secret } from './secret.ts'

// JSON Web Signatures (RFC 7515) with ES256 only: one algorithm leaves nothing to be confused about.

/** A public key as it is published. */
type PublicJwk = {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly kid: string
  readonly alg: 'ES256'
  readonly use: 'sig'
}

export type Jwks = { readonly keys: readonly PublicJwk[] }

/** A key that can sign and that nobody can read. */
export type SigningKey = { readonly jwk: PublicJwk; sign(payload: JsonObject): string }

const CURVE = 'prime256v1'

/**
 * PEM (`openssl ecparam -name prime256v1 -genkey -noout`), a private JWK, or the bare number as 0x and 64 digits. Throws when it is none
 * of them, or of another curve.
 */
export function readSigningKey(text: Secret): SigningKey {
  const value = text.reveal().trim()
  if (/^0x[0-9a-f]{64}$/i.test(value)) return signingKey(keyOfNumber(Buffer.from(value.slice(2), 'hex')))
  if (!value.startsWith('{')) return signingKey(createPrivateKey(value))
  return signingKey(createPrivateKey({ key: JSON.parse(value) as JsonWebKey, format: 'jwk' }))
}

function keyOfNumber(number: Buffer): KeyObject {
  const pair = createECDH(CURVE)
  pair.setPrivateKey(number)
  const point = pair.getPublicKey()
  const [d, x, y] = [number, point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
  return createPrivateKey({ key: { kty: 'EC', crv: 'P-256', d, x, y } as JsonWebKey, format: 'jwk' })
}

function signingKey(key: KeyObject): SigningKey {
  const jwk = publicJwk(createPublicKey(key))
  const header = encode({ alg: 'ES256', typ: 'JWT', kid: jwk.kid })
  return {
    jwk,
    sign(payload) {
      const signed = `${header}.${encode(payload)}`
      const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
      return `${signed}.${signature.toString('base64url')}`
    },
  }
}

function publicJwk(key: KeyObject): PublicJwk {
  const { kty, crv, x, y } = key.export({ format: 'jwk' })
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined)
    throw new TypeError('the key is not on the curve P-256')
  // RFC 7638: the same key always has the same name.
  const kid = createHash('sha256').update(stringify({ crv, kty, x, y })).digest('base64url')
  return { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }
}

/** A published key set. Throws when a key in it is of another kind. */
export function readJwks(text: string): Jwks {
  const { keys } = JSON.parse(text) as { keys: readonly JsonWebKey[] }
  return { keys: keys.map((key) => publicJwk(createPublicKey({ key, format: 'jwk' }))) }
}

/** Why a signature does not hold. */
export class JwsFault extends Error {}

/** What was signed, if one of these keys signed it. Needs nothing but the two documents. */
export function verifyJws(jws: string, { keys }: Jwks): JsonObject {
  const [header = '', payload = '', signature = '', ...rest] = jws.split('.')
  if (rest.length > 0 || signature === '') throw new JwsFault('it is not a signed document of three parts')
  const { alg, kid } = decode(header)
  if (alg !== 'ES256') throw new JwsFault('it is not signed with ES256')
  const jwk = keys.find((key) => key.kid === kid)
  if (!jwk) throw new JwsFault('the key it names is not among those given')
  const { kty, crv, x, y } = jwk
  const key = createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' })
  const bytes = Buffer.from(signature, 'base64url')
  if (!verify('sha256', Buffer.from(`${header}.${payload}`), { key, dsaEncoding: 'ieee-p1363' }, bytes))
    throw new JwsFault('the signature is not by that key')
  return decode(payload)
}

function encode(value: JsonObject): string {
  return Buffer.from(stringify(value), 'utf8').toString('base64url')
}

function decode(part: string): JsonObject {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  } catch {
    // Not JSON: the same fault as JSON of another kind.
  }
  throw new JwsFault('a part of it is not a JSON object')
}
