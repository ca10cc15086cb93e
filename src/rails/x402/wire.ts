import { type Address, type Hash, isAddress, isHash } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { type JsonObject, parseStrictJson, stringify } from '../../base/json.ts'
import { isProblem, Problem } from '../../base/problem.ts'
import type { Authorization } from '../../chain/eip3009.ts'
import { SpoiltPayment } from '../../domain/rail.ts'

export const X402_VERSION = 2
export const HEADER = {
  required: 'PAYMENT-REQUIRED',
  signature: 'PAYMENT-SIGNATURE',
  response: 'PAYMENT-RESPONSE',
} as const
/** As a request is asked for it. */
export const SIGNATURE_SENT = HEADER.signature.toLowerCase()
export const META = { payment: 'x402/payment', response: 'x402/payment-response', error: 'x402/error' } as const

/** One way to pay, as the protocol's `accepts[]` names it. */
export type Requirements = {
  readonly scheme: 'exact'
  readonly network: string
  readonly amount: string
  readonly asset: Address
  readonly payTo: Address
  readonly maxTimeoutSeconds: number
  readonly extra: JsonObject
}

/** What a client sends back. Everything but the authorization is an unsigned echo of our challenge. */
export type Payload = {
  readonly x402Version: number
  readonly payload: { readonly authorization: Authorization; readonly signature: Hex }
  readonly resource: { readonly url: string } & JsonObject
  readonly accepted: JsonObject
  readonly extensions?: JsonObject | undefined
}

const HEADER_CHARS_MAX = 12 * 1024
const SIGNATURE_CHARS_MAX = 4 * 1024
const DEPTH_MAX = 24
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const UINT = /^(0|[1-9]\d{0,77})$/
const BYTES = /^0x(?:[0-9a-fA-F]{2})+$/

export function encode(value: unknown): string {
  return Buffer.from(stringify(value), 'utf8').toString('base64')
}

/** Strict, because `Buffer.from(…, 'base64')` takes junk: one payment must not have two spellings that look different to a proxy. */
export function decodeHeader(header: string): Payload {
  if (header.length > HEADER_CHARS_MAX) throw unreadable('it is longer than 12 KiB')
  if (header.trimStart().startsWith('{')) throw unreadable('it is plain JSON; encode it as base64')
  if (!BASE64.test(header) || header.length % 4 !== 0) throw unreadable('it is not standard base64')
  let value: unknown
  try {
    value = parseStrictJson(Buffer.from(header, 'base64'), DEPTH_MAX)
  } catch (cause) {
    throw unreadable('it does not hold JSON', cause)
  }
  return checkPayload(value)
}

/** MCP carries the payload as an object; Cloudflare's client sends the header's text instead. */
export function decodeMeta(value: unknown): Payload {
  return typeof value === 'string' ? decodeHeader(value) : checkPayload(value)
}

function checkPayload(value: unknown): Payload {
  try {
    return read(value)
  } catch (error) {
    const nonce = nonceIn(value)
    throw isProblem(error) && nonce !== null ? new SpoiltPayment(error, [nonce.toLowerCase()]) : error
  }
}

function nonceIn(value: unknown): string | null {
  const payload = isObject(value) ? value['payload'] : null
  const authorization = isObject(payload) ? payload['authorization'] : null
  const nonce = isObject(authorization) ? authorization['nonce'] : null
  return typeof nonce === 'string' && isHash(nonce) ? nonce : null
}

function read(value: unknown): Payload {
  if (!isObject(value)) throw unreadable('it is not an object')
  if (value['x402Version'] !== X402_VERSION) throw unreadable(`x402Version must be ${X402_VERSION}`)
  const { resource, accepted, payload, extensions } = value
  if (!isObject(resource) || typeof resource['url'] !== 'string')
    throw unreadable('`resource` with its `url` is missing; echo the challenge')
  if (!isObject(accepted)) throw unreadable('`accepted` is missing; echo the chosen entry of `accepts`')
  if (!isObject(payload) || !isObject(payload['authorization'])) throw unreadable('`payload.authorization` is missing')
  if (extensions !== undefined && !isObject(extensions)) throw unreadable('`extensions` is not an object')
  const { signature } = payload
  if (typeof signature !== 'string' || signature.length > SIGNATURE_CHARS_MAX || !BYTES.test(signature))
    throw unreadable('`payload.signature` is not bytes')
  checkAuthorization(payload['authorization'])
  return value as unknown as Payload
}

function checkAuthorization(authorization: Record<string, unknown>): void {
  const text = (key: string): string => {
    const value = authorization[key]
    if (typeof value !== 'string') throw unreadable(`\`authorization.${key}\` is not text`)
    return value
  }
  for (const key of ['from', 'to'])
    if (!isAddress(text(key))) throw unreadable(`\`authorization.${key}\` is not an address`)
  for (const key of ['value', 'validAfter', 'validBefore'])
    if (!UINT.test(text(key))) throw unreadable(`\`authorization.${key}\` is not a whole number`)
  if (!isHash(text('nonce'))) throw unreadable('`authorization.nonce` is not 32 bytes')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unreadable(what: string, cause?: unknown): Problem {
  return new Problem('payment_payload_invalid', `The x402 payment cannot be used: ${what}.`, { cause })
}

/** The payment itself, whatever header it came in: the token accepts this pair once, ever. */
export function identityOf(network: string, asset: Address, { from, nonce }: { from: Address; nonce: Hash }): string {
  return `eip3009:${network}/${asset}/${from}/${nonce}`.toLowerCase()
}
