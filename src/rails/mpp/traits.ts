import type { Json, JsonObject } from '../../base/json.ts'
import type { RailTraits, Wire } from '../../domain/rail.ts'
import { INTENT, METHOD } from './challenge.ts'
import { HEADER, META } from './wire.ts'

const experimental: JsonObject = { payment: { methods: { [METHOD]: { intents: [INTENT] } } } }

export const traits: RailTraits = {
  name: 'mpp',
  label: 'MPP',
  reference: 'MPP challenge id',
  headers: {
    credential: { name: HEADER.credential, scheme: 'Payment' },
    alsoSent: ['accept-payment'],
    challenge: HEADER.challenge,
    receipt: HEADER.receipt,
  },
  mcp: {
    toolMeta: {},
    priceKey: null,
    capabilities: { legacy: { experimental }, modern: { experimental } },
    extension: null,
    contentKey: null,
    errorKey: META.required,
    receiptFor: withChallengeId,
  },
  privileges: { hasProbes: false, servesPayer: true, listsLots: false },
}

/** Over MCP a receipt names the challenge it answers: several calls may be under way on one connection. */
function withChallengeId(meta: Wire['meta'], sent: Wire['meta']): Wire['meta'] {
  const receipt = meta[META.receipt]
  const credential = sent[META.credential] as { readonly challenge: { readonly id: Json } } | undefined
  if (typeof receipt !== 'object' || credential === undefined) return meta
  return { ...meta, [META.receipt]: { ...receipt, challengeId: credential.challenge.id } }
}
