import { createHash, createPublicKey, type JsonWebKey, timingSafeEqual, verify } from 'node:crypto'
import { type Cbor, readCbor } from '../../base/cbor.ts'

// WebAuthn (Level 3, sections 7.1 and 7.2) as far as we ask for it: ES256, a resident key, the user verified, no attestation.

/** Where a passkey of ours may be used. */
export type PasskeyPlace = { readonly origin: string; readonly rpId: string }

/** What is kept of a passkey. */
type NewPasskey = { readonly credential: string; readonly publicKey: string; readonly counter: number }

export const ES256 = -7

const UP = 0x01
const UV = 0x04
const ATTESTED = 0x40

/** The challenge that a browser says it has answered; which one it was must be looked up. Throws on anything that is not for us. */
export function challengeIn(
  clientData: string,
  type: 'webauthn.create' | 'webauthn.get',
  { origin }: PasskeyPlace,
): string {
  const said = JSON.parse(bytesOf(clientData).toString('utf8')) as Record<string, unknown>
  if (said.type !== type) throw new PasskeyFault('it is for something else')
  if (said.origin !== origin || said.crossOrigin === true) throw new PasskeyFault('it was made for another site')
  if (typeof said.challenge !== 'string') throw new PasskeyFault('it has no challenge')
  return said.challenge
}

/** Reads a new passkey out of an attestation object. Whose make it is was not asked, and is not looked at. */
export function readPasskey(attestationObject: string, place: PasskeyPlace): NewPasskey {
  const { value } = readCbor(bytesOf(attestationObject))
  const data = value instanceof Map ? value.get('authData') : undefined
  if (!(data instanceof Uint8Array)) throw new PasskeyFault('it has no authenticator data')
  const { flags, counter, rest } = readData(data, place)
  if ((flags & ATTESTED) === 0 || rest.length < 18) throw new PasskeyFault('it holds no key')
  const length = (rest[16]! << 8) | rest[17]!
  const id = rest.subarray(18, 18 + length)
  if (length === 0 || length > 1023 || id.length !== length) throw new PasskeyFault('its name cannot be read')
  const publicKey = pointOf(readCbor(rest, 18 + length).value)
  return { credential: Buffer.from(id).toString('base64url'), publicKey, counter }
}

type Assertion = {
  readonly clientDataJSON: string
  readonly authenticatorData: string
  readonly signature: string
}

/** The counter of a passkey that has signed. Throws when it has not. */
export function checkAssertion(said: Assertion, known: NewPasskey, place: PasskeyPlace): number {
  const data = bytesOf(said.authenticatorData)
  const { counter } = readData(data, place)
  const signed = Buffer.concat([data, sha256(bytesOf(said.clientDataJSON))])
  const key = keyOf(known.publicKey)
  if (!verify('sha256', signed, { key, dsaEncoding: 'der' }, bytesOf(said.signature)))
    throw new PasskeyFault('its signature is wrong')
  // Those that count never show a number twice: two that do are copies of each other.
  if ((counter > 0 || known.counter > 0) && counter <= known.counter) throw new PasskeyFault('it was copied')
  return counter
}

function readData(data: Uint8Array, { rpId }: PasskeyPlace) {
  if (data.length < 37) throw new PasskeyFault('its data is too short')
  if (!timingSafeEqual(data.subarray(0, 32), sha256(Buffer.from(rpId))))
    throw new PasskeyFault('it is for another site')
  const flags = data[32]!
  if ((flags & UP) === 0 || (flags & UV) === 0) throw new PasskeyFault('nobody was verified')
  const counter = new DataView(data.buffer, data.byteOffset).getUint32(33)
  return { flags, counter, rest: data.subarray(37) }
}

/** A COSE key (RFC 9052) on P-256, as hexadecimal digits. */
function pointOf(key: Cbor): string {
  if (!(key instanceof Map)) throw new PasskeyFault('its key cannot be read')
  const [x, y] = [key.get(-2), key.get(-3)]
  const isEs256 = key.get(1) === 2 && key.get(3) === ES256 && key.get(-1) === 1
  if (!isEs256 || !(x instanceof Uint8Array) || !(y instanceof Uint8Array) || x.length !== 32 || y.length !== 32)
    throw new PasskeyFault('its key is not ES256')
  const point = Buffer.concat([x, y]).toString('hex')
  // A point that is not on the curve is refused here, and not at the first sign-in.
  keyOf(point)
  return point
}

function keyOf(point: string) {
  const [x, y] = [point.slice(0, 64), point.slice(64)].map((half) => Buffer.from(half, 'hex').toString('base64url'))
  const jwk = { kty: 'EC', crv: 'P-256', x: x!, y: y! } satisfies JsonWebKey
  return createPublicKey({ key: jwk, format: 'jwk' })
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'base64url')
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest()
}

/** Why a passkey is not taken; whoever sent it is not told. */
class PasskeyFault extends Error {
  constructor(why: string) {
    super(`the passkey is not taken: ${why}`)
    this.name = 'PasskeyFault'
  }
}
