import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import type { ChallengeWire } from '../../domain/rail.ts'
import { resourceOf } from '../shop/paid-handler.ts'
import { STATUS_SECONDS } from '../shop/purchase-status.ts'
import { type Facts, lowestPrice, type PricedRoute, pricedOn } from './facts.ts'
import { tagline } from './guidance.ts'

const x402ResourceSchema = z.object({
  resource: z.string(),
  type: z.literal('http'),
  x402Version: z.int(),
  accepts: z.array(z.looseObject({ scheme: z.string(), network: z.string(), amount: z.string() })),
  lastUpdated: z.iso.datetime(),
  description: z.string().max(500),
  mimeType: z.string(),
  serviceName: z.string().max(32),
  tags: z.array(z.string().max(32)).max(5),
  iconUrl: z.string(),
  extensions: z.looseObject({}),
})

export const resourcesSchema = z
  .object({
    x402Version: z.literal(2),
    items: z.array(x402ResourceSchema),
    pagination: z.object({ limit: z.int(), offset: z.int(), total: z.int() }),
  })
  .meta({ id: 'DiscoveryResources', description: 'The x402 routes of this host as a Bazaar lists them' })

/** `/discovery/resources`: what a Bazaar would have indexed of us. Each entry is made of the route's own 402. */
export function discoveryResources(facts: Facts): JsonObject {
  const items = pricedOn(facts, 'x402').flatMap((priced) => {
    const challenge = challengeOf(facts, priced)
    return challenge ? [listing(facts, priced, challenge)] : []
  })
  return { x402Version: 2, items, pagination: { limit: items.length, offset: 0, total: items.length } }
}

function listing({ origin, config, since }: Facts, { route }: PricedRoute, { members }: ChallengeWire): JsonObject {
  const { resource, accepts, extensions, x402Version } = JSON.parse(`{${members}}`) as Record<string, JsonObject> & {
    accepts: readonly (JsonObject & { extra: JsonObject })[]
  }
  return {
    resource: resource!['url']!,
    type: 'http',
    x402Version: x402Version!,
    accepts: accepts.map(asListed),
    lastUpdated: since,
    description: route.description,
    mimeType: 'application/json',
    serviceName: config.service.name,
    tags: ['commerce', 'gaming', route.surface],
    iconUrl: `${origin}/favicon.png`,
    extensions: { bazaar: extensions!['bazaar']! },
  }
}

/** The claim is told to one caller, with one 402. */
function asListed({ extra: { claim: _, ...extra }, ...terms }: JsonObject & { extra: JsonObject }): JsonObject {
  return { ...terms, extra }
}

/** What an empty call of this route is answered with; null when nothing is on its shelf. */
function challengeOf({ config }: Facts, priced: PricedRoute): ChallengeWire | null {
  const price = lowestPrice(priced)
  if (price === null) return null
  const { route } = priced
  const terms = {
    price,
    resource: resourceOf(config.http, route),
    body: null,
    bodyIsBound: route.bodyIsBound,
    flowId: '',
  }
  return route.offer.rail.challenge(terms, new Problem('payment_required', 'Payment required.'))
}

export const x402ManifestSchema = z
  .object({
    version: z.literal(1),
    service: z.string(),
    description: z.string(),
    resources: z.array(z.string()),
    ownershipProofs: z.array(z.string()),
    openapi: z.string(),
    catalog: z.string(),
    instructions: z.string(),
    fulfillment_policy: z.looseObject({ mode: z.literal('async'), fulfillment_deadline_seconds: z.int() }),
    refund_policy: z.looseObject({ type: z.literal('automatic'), refund_to: z.literal('original_payer') }),
  })
  .meta({ id: 'X402Manifest', description: 'The x402 routes of this host, and what becomes of a payment' })

/** `/.well-known/x402`. */
export function x402Manifest(facts: Facts): z.output<typeof x402ManifestSchema> {
  const { origin, config, proofs } = facts
  const priced = pricedOn(facts, 'x402')
  return {
    version: 1,
    service: config.service.name,
    description: tagline(facts),
    resources: priced.map(({ route }) => resourceOf(config.http, route).url),
    ownershipProofs: [...proofs],
    openapi: `${origin}/openapi.json`,
    catalog: `${origin}/catalog`,
    instructions: `${origin}/llms.txt`,
    fulfillment_policy: fulfilment(facts, priced),
    refund_policy: {
      type: 'automatic',
      refund_to: 'original_payer',
      amount: 'full',
      triggers: ['fulfillment_failed'],
      idempotency_required: false,
      status_endpoint: '/payments/{reference}',
    },
  }
}

/** Settled before anything is delivered; answered within seconds, finished or not; given up and refunded after this long. */
function fulfilment({ config, surfaces }: Facts, priced: readonly PricedRoute[]): Policy {
  const { limits } = config
  const { waitMsMax } = limits
  const sold = [...new Set(priced.map(({ route }) => route.surface))]
  const seconds = sold.map(
    (name) => [name, surfaces.find((one) => one.name === name)!.deliveryMs(limits) / 1000] as const,
  )
  return {
    mode: 'async',
    fulfillment_deadline_seconds: Math.max(...seconds.map(([, most]) => most)),
    deadline_seconds_by_surface: Object.fromEntries(seconds),
    answer_within_seconds: waitMsMax / 1000,
    status_endpoint: '/payments/{reference}',
    retry_after_seconds: STATUS_SECONDS,
  }
}

type Policy = z.output<typeof x402ManifestSchema>['fulfillment_policy']
