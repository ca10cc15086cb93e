import { isHash } from '../../base/address.ts'
import { fromHex, type Hex, toHex } from '../../base/hex.ts'
import { type JsonObject, parseStrictJson } from '../../base/json.ts'
import { keccak256 } from '../../base/keccak.ts'
import { isProblem, MAY_HAVE_MOVED, Problem, type ProblemCode } from '../../base/problem.ts'
import { SpoiltPayment } from '../../domain/rail.ts'
import { type Binding, type Challenge, type ChargeRequest, decodeJson, encodeJson, isId } from './challenge.ts'

export const HEADER = {
  challenge: 'WWW-Authenticate',
  credential: 'Authorization',
  receipt: 'Payment-Receipt',
} as const
/** As a request is asked for it. */
export const CREDENTIAL_SENT = HEADER.credential.toLowerCase()
export const META = {
  required: 'org.paymentauth/payment-required',
  credential: 'org.paymentauth/credential',
  receipt: 'org.paymentauth/receipt',
} as const

/** Pull: a signed transaction that we broadcast. Push: the hash of one that the payer broadcast already. */
type Proof =
  | { readonly mode: 'pull'; readonly raw: `0x${string}` }
  | { readonly mode: 'push'; readonly hash: `0x${string}` }

export type MppCredential = {
  readonly challenge: Challenge
  readonly request: ChargeRequest
  readonly binding: Binding
  readonly proof: Proof
}

const HEADER_CHARS_MAX = 12 * 1024
const DEPTH_MAX = 24
const SCHEME = /^Payment\s+/i
const BASE64URL = /^[A-Za-z0-9_-]+={0,2}$/
const SIGNED = /^0x7[68][0-9a-fA-F]+$/

/** Null when the header is of another scheme: a bearer token is no payment. */
export function decodeHeader(header: string): MppCredential | null {
  if (!SCHEME.test(header)) return null
  const encoded = header.replace(SCHEME, '').trim()
  if (encoded.length > HEADER_CHARS_MAX) throw unreadable('it is longer than 12 KiB')
  if (!BASE64URL.test(encoded)) throw unreadable('it is not base64url')
  let value: unknown
  try {
    value = parseStrictJson(Buffer.from(encoded, 'base64url'), DEPTH_MAX)
  } catch (cause) {
    throw unreadable('it does not hold JSON', cause)
  }
  return checkCredential(value)
}

/** MCP carries the credential as native JSON. */
export function decodeMeta(value: unknown): MppCredential {
  return checkCredential(value)
}

/** Whoever names a transaction has sent it, whatever else of their credential cannot be read: they are not asked to pay. Who has signed one may have bought. */
function checkCredential(value: unknown): MppCredential {
  try {
    return read(value)
  } catch (error) {
    if (!isProblem(error)) throw error
    const { code, message } = error
    if (isPush(value)) throw new Problem(code, message, { ...MAY_HAVE_MOVED, cause: error })
    const handles = handlesIn(value)
    throw handles.length === 0 ? error : new SpoiltPayment(error, handles)
  }
}

/** An order has the name of its challenge, and money that was set aside that of its transaction alone. */
function handlesIn(value: unknown): readonly string[] {
  const { challenge, payload } = isObject(value) ? value : {}
  const id = isObject(challenge) ? challenge['id'] : null
  const signed = isObject(payload) ? payload['signature'] : null
  return [
    ...(typeof id === 'string' && isId(id) ? [id] : []),
    ...(typeof signed === 'string' && SIGNED.test(signed) ? [toHex(keccak256(fromHex(signed as Hex)))] : []),
  ]
}

function isPush(value: unknown): boolean {
  return isObject(value) && isObject(value['payload']) && value['payload']['type'] === 'hash'
}

function read(value: unknown): MppCredential {
  if (!isObject(value) || !isObject(value['challenge']) || !isObject(value['payload']))
    throw unreadable('`challenge` or `payload` is missing')
  // `source`, the payer's own word on who they are, is not read: only the chain says who paid.
  const { challenge: echoed, payload } = value
  const request = encodedOf(echoed, 'request')
  const opaque = encodedOf(echoed, 'opaque')
  const challenge: Challenge = {
    id: textOf(echoed, 'id'),
    realm: textOf(echoed, 'realm'),
    method: textOf(echoed, 'method'),
    intent: textOf(echoed, 'intent'),
    request,
    expires: textOf(echoed, 'expires'),
    opaque,
    ...(echoed['digest'] === undefined ? {} : { digest: textOf(echoed, 'digest') }),
  }
  return {
    challenge,
    request: checkRequest(decodedOf(request)),
    binding: decodedOf(opaque) as Binding,
    proof: proofOf(payload),
  }
}

/** Of the rest nothing is believed before the whole challenge is known to be ours. */
function checkRequest(request: Record<string, unknown>): ChargeRequest {
  const { amount } = request
  if (typeof amount !== 'string' || !/^\d{1,78}$/.test(amount)) throw unreadable('its challenge asks for no amount')
  return request as unknown as ChargeRequest
}

function proofOf(payload: Record<string, unknown>): Proof {
  const { type, signature, hash } = payload
  if (type === 'transaction' && typeof signature === 'string' && SIGNED.test(signature))
    return { mode: 'pull', raw: signature as `0x${string}` }
  if (type === 'hash' && typeof hash === 'string' && isHash(hash))
    return { mode: 'push', hash: hash.toLowerCase() as `0x${string}` }
  throw unreadable('its payload is neither a signed Tempo transaction nor a transaction hash')
}

function textOf(object: Record<string, unknown>, key: string): string {
  const value = object[key]
  if (typeof value !== 'string' || value === '') throw unreadable(`\`challenge.${key}\` is missing`)
  if (value.includes('\0')) throw unreadable(`\`challenge.${key}\` is no text`)
  return value
}

/** Headers carry these encoded, MCP carries them as objects; the id covers the encoded form. */
function encodedOf(object: Record<string, unknown>, key: string): string {
  const value = object[key]
  return isObject(value) ? encodeJson(value) : textOf(object, key)
}

function decodedOf(encoded: string): Record<string, unknown> {
  try {
    const value = decodeJson(encoded)
    if (isObject(value)) return value
  } catch {
    // Falls through to the same refusal as JSON of another shape.
  }
  throw unreadable('its challenge was changed')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unreadable(what: string, cause?: unknown): Problem {
  return new Problem('malformed_credential', `The MPP credential cannot be used: ${what}.`, { cause })
}

export function encodeReceipt(receipt: JsonObject): string {
  return Buffer.from(JSON.stringify(receipt), 'utf8').toString('base64url')
}

/** The protocol has fewer words than we have; ours stands beside it in `code`. */
const PROBLEM_NAMES: Partial<Record<ProblemCode, string>> = {
  payment_required: 'payment-required',
  malformed_credential: 'malformed-credential',
  invalid_challenge: 'invalid-challenge',
  payment_terms_mismatch: 'invalid-challenge',
  request_body_mismatch: 'invalid-challenge',
  payment_expired: 'payment-expired',
  payment_insufficient: 'payment-insufficient',
  payment_amount_mismatch: 'payment-insufficient',
  insufficient_funds: 'payment-insufficient',
}

export function problemUri(code: ProblemCode): string {
  return `https://paymentauth.org/problems/${PROBLEM_NAMES[code] ?? 'verification-failed'}`
}
