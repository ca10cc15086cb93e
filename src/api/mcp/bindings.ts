import type { Json, JsonObject } from '../../base/json.ts'
import type { RailName } from '../../domain/rail.ts'
import { INTENT, METHOD } from '../../rails/mpp/challenge.ts'
import { META as MPP } from '../../rails/mpp/wire.ts'
import { META as X402 } from '../../rails/x402/wire.ts'
import { isObject, type Members } from './protocol.ts'

// How each payment protocol's own MCP transport wants to be found. The rails fill `_meta`; this is what stands outside of it.

type Binding = {
  /** `_meta` of a tool that is paid this way. */
  readonly toolMeta: JsonObject
  readonly capabilities: { readonly legacy: JsonObject; readonly modern: JsonObject }
}

const X402_EXTENSION = 'org.x402/payment'

const experimental: JsonObject = { payment: { methods: { [METHOD]: { intents: [INTENT] } } } }

export const bindings: Readonly<Record<RailName, Binding>> = {
  x402: {
    toolMeta: { 'agents-x402/paymentRequired': true },
    capabilities: { legacy: {}, modern: { extensions: { [X402_EXTENSION]: {} } } },
  },
  mpp: { toolMeta: {}, capabilities: { legacy: { experimental }, modern: { experimental } } },
}

/** Did this client say, in the modern way, that it pays x402? Only then may the answer be of a type that it must know. */
export function knowsX402(clientCapabilities: Members): boolean {
  const { extensions } = clientCapabilities
  return isObject(extensions) && Object.hasOwn(extensions, X402_EXTENSION)
}

/** x402's `PaymentRequired`, where the challenge holds one. */
export function x402Required(meta: Members): JsonObject | undefined {
  return meta[X402.error] as JsonObject | undefined
}

/** MPP's `{ httpStatus, challenges, problem }`, where the challenge holds one. */
export function mppRequired(meta: Members): JsonObject | undefined {
  return meta[MPP.required] as JsonObject | undefined
}

export function withError(meta: Members, error: string): Members {
  const required = x402Required(meta)
  return required ? { ...meta, [X402.error]: { ...required, error } } : meta
}

/** Over MCP a receipt of MPP names the challenge it answers: several calls may be under way on one connection. */
export function withChallengeId(meta: Members, sent: Members): Members {
  const receipt = meta[MPP.receipt]
  const credential = sent[MPP.credential] as { readonly challenge: { readonly id: Json } } | undefined
  if (!isObject(receipt) || credential === undefined) return meta
  return { ...meta, [MPP.receipt]: { ...receipt, challengeId: credential.challenge.id } }
}
