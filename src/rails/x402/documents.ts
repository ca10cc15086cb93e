import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import {
  exampleCode,
  needs,
  type RailDocument,
  type RailDocuments,
  type RailFacts,
  type Recipe,
  type SoldRoute,
} from '../../domain/rail-documents.ts'
import { walletScript } from './wallet-script.ts'
import { X402_VERSION } from './wire.ts'

type Money = { readonly network: string; readonly currency: string }

export function documentsOf(money: Money): RailDocuments {
  return {
    credential:
      'An x402 payment (version 2, base64 JSON) for the challenge of the 402. Send the same body again with it.',
    challenge: requiredSchema,
    own: [resources, manifest, { ...manifest, path: '/.well-known/x402.json', title: null }],
    recipe: (facts, route) => fetchRecipe(money, facts, route),
    walletScript,
  }
}

const requiredSchema = z
  .object({
    x402Version: z.literal(X402_VERSION),
    error: z.string(),
    resource: z.looseObject({ url: z.string() }),
    accepts: z.array(
      z.looseObject({
        scheme: z.literal('exact'),
        network: z.string(),
        amount: z.string().describe('Atomic units'),
        asset: z.string(),
        payTo: z.string(),
        maxTimeoutSeconds: z.int(),
      }),
    ),
    extensions: z.looseObject({}),
  })
  .meta({ id: 'X402PaymentRequired', description: 'The same as in the PAYMENT-REQUIRED header' })

const resourceSchema = z.object({
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
  metadata: z.object({ description: z.string() }).describe('The same once more, where some readers look'),
  extensions: z.looseObject({}),
})

/** What a Bazaar would have indexed of us. Each entry is made of the route's own 402. */
const resources: RailDocument = {
  path: '/discovery/resources',
  summary: 'The x402 routes as a Bazaar lists them',
  title: null,
  isPaged: true,
  schema: z
    .object({
      x402Version: z.literal(2),
      items: z.array(resourceSchema),
      pagination: z.object({ limit: z.int(), offset: z.int(), total: z.int() }),
    })
    .meta({ id: 'DiscoveryResources', description: 'The x402 routes of this host as a Bazaar lists them' }),
  write(facts) {
    const items = facts.sold.flatMap((route) => {
      const challenge = route.challenge()
      return challenge ? [listing(facts, route, challenge)] : []
    })
    return { x402Version: 2, items, pagination: { limit: items.length, offset: 0, total: items.length } }
  },
}

function listing({ origin, serviceName, since }: RailFacts, route: SoldRoute, challenge: JsonObject): JsonObject {
  const { resource, accepts, extensions, x402Version } = challenge as Record<string, JsonObject> & {
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
    serviceName,
    tags: ['commerce', 'gaming', route.surface],
    iconUrl: `${origin}/favicon.png`,
    metadata: { description: route.description },
    extensions: { bazaar: extensions!['bazaar']! },
  }
}

/** The claim is told to one caller, with one 402. */
function asListed({ extra: { claim: _, ...extra }, ...terms }: JsonObject & { extra: JsonObject }): JsonObject {
  return { ...terms, extra }
}

const manifest: RailDocument = {
  path: '/.well-known/x402',
  summary: 'The x402 routes, fulfilment and refund policy',
  title: 'x402 routes, fulfilment and refund policy',
  schema: z
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
    .meta({ id: 'X402Manifest', description: 'The x402 routes of this host, and what becomes of a payment' }),
  write: (facts) => ({
    version: 1,
    service: facts.serviceName,
    description: facts.tagline,
    resources: facts.sold.map(({ url }) => url),
    ownershipProofs: [...facts.proofs],
    openapi: `${facts.origin}/openapi.json`,
    catalog: `${facts.origin}/catalog`,
    instructions: `${facts.origin}/llms.txt`,
    fulfillment_policy: fulfilment(facts),
    refund_policy: {
      type: 'automatic',
      refund_to: 'original_payer',
      amount: 'full',
      triggers: ['fulfillment_failed'],
      idempotency_required: false,
      status_endpoint: '/payments/{reference}',
    },
  }),
}

/** Settled before anything is delivered; answered within seconds, finished or not; given up and refunded after this long. */
function fulfilment({ sold, answerSeconds, statusSeconds }: RailFacts): JsonObject {
  const seconds = new Map(sold.map(({ surface, deliverySeconds }) => [surface, deliverySeconds]))
  return {
    mode: 'async',
    fulfillment_deadline_seconds: Math.max(...seconds.values()),
    deadline_seconds_by_surface: Object.fromEntries(seconds),
    answer_within_seconds: answerSeconds,
    status_endpoint: '/payments/{reference}',
    retry_after_seconds: statusSeconds,
  }
}

function fetchRecipe({ network, currency }: Money, facts: RailFacts, route: SoldRoute): Recipe {
  const init =
    route.method === 'GET'
      ? ''
      : `, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(${exampleCode(route.example)}),
}`
  return {
    client: '@x402/fetch',
    title: 'x402, from JavaScript',
    words: `${needs(facts, route, { currency, network, variable: 'PRIVATE_KEY' })} No gas is needed.`,
    language: 'js',
    code: `// npm install @x402/fetch @x402/evm viem
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.PRIVATE_KEY)
const client = new x402Client().register('${network}', new ExactEvmScheme(account))
client.setSpendControls({ maxAmountPerPayment: '$${route.cost ?? '1.00'}' })
const pay = wrapFetchWithPayment(fetch, client)

const response = await pay('${route.url}'${init})
console.log(response.status, await response.json())`,
  }
}
