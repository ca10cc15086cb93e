import * as z from 'zod'
import type { PaidRoute } from '../../domain/route.ts'
import { noInput } from '../mcp/listing.ts'
import { resourceOf } from '../shop/paid-handler.ts'
import { mppxCommand } from './clients.ts'
import { type Facts, type PricedRoute, pricedOn } from './facts.ts'
import { tagline } from './guidance.ts'
import { inlineSchema } from './json-schema.ts'
import { paymentInfo } from './payment-info.ts'

const checkoutSchema = z.looseObject({
  httpMethod: z.enum(['GET', 'POST']),
  url: z.string(),
  summary: z.string(),
  realm: z.string(),
  network: z.string(),
  currency: z.string(),
  currencySymbol: z.string(),
  payTo: z.string(),
  inputSchema: z.looseObject({}),
  inputExample: z.looseObject({}),
})

export const mppManifestSchema = z
  .object({
    version: z.literal('1.0'),
    service: z.string(),
    description: z.string(),
    protocol: z.literal('mpp'),
    authHeader: z.string(),
    openapi: z.string(),
    catalog: z.string(),
    ownershipProofs: z.array(z.string()),
    agentIntegration: z.object({
      recommendedSdk: z.string(),
      npmInstall: z.string(),
      canonicalUsage: z.string(),
      retryRule: z.string(),
      supportedModes: z.array(z.string()),
      commonMistakes: z.array(z.string()),
    }),
    checkouts: z.record(z.string(), checkoutSchema),
  })
  .meta({ id: 'MppManifest', description: 'The MPP routes of this host, and how to pay them' })

/** `/.well-known/mpp`. Nobody specified it; clients of older shops look for these names. */
export function mppManifest(facts: Facts): z.output<typeof mppManifestSchema> {
  const { origin, config, proofs } = facts
  const priced = pricedOn(facts, 'mpp')
  const [first] = priced
  return {
    version: '1.0',
    service: config.service.name,
    description: tagline(facts),
    protocol: 'mpp',
    authHeader: 'Authorization: Payment',
    openapi: `${origin}/openapi.json`,
    catalog: `${origin}/catalog`,
    ownershipProofs: [...proofs],
    agentIntegration: {
      recommendedSdk: 'mppx',
      npmInstall: 'npm install mppx viem',
      canonicalUsage: first ? mppxCommand(facts, first.route) : '',
      retryRule: 'Repeat the request with the same JSON body and Authorization: Payment <credential>.',
      supportedModes: [...(config.mpp?.modes ?? [])],
      commonMistakes: [
        'Changing the body between the 402 and the paid call: the challenge is bound to its digest.',
        'Paying again after a 202 or a lost answer: read /payments/{reference} first.',
        'Paying a challenge after it has expired: ask for a fresh one.',
      ],
    },
    checkouts: Object.fromEntries(priced.map((one) => [checkoutName(one.route), checkoutOf(facts, one)])),
  }
}

/** The main route of a surface goes by the name of the surface. */
function checkoutName({ path, surface }: PaidRoute): string {
  const last = path.split('/').at(-1)!
  return last === 'buy' ? surface : last
}

function checkoutOf({ config }: Facts, priced: PricedRoute): z.output<typeof checkoutSchema> {
  const { route } = priced
  const { rail } = route.offer
  return {
    httpMethod: route.method,
    url: resourceOf(config.http, route).url,
    summary: route.summary,
    realm: config.mpp?.realm ?? '',
    network: rail.network,
    currency: rail.asset,
    currencySymbol: rail.currency,
    payTo: rail.payTo,
    ...paymentInfo(priced, config.limits.quantityMax),
    inputSchema: inlineSchema(route.body ?? noInput, 'input'),
    inputExample: route.example,
  }
}
