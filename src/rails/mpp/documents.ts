import * as z from 'zod'
import type { Address } from '../../base/address.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import {
  exampleCode,
  needs,
  type RailDocument,
  type RailDocuments,
  type RailFacts,
  type Recipe,
  type SoldRoute,
} from '../../domain/rail-documents.ts'
import { traits } from './traits.ts'

type Money = {
  readonly network: string
  readonly chainId: number
  readonly currency: { readonly address: Address; readonly code: string }
  readonly recipient: Address
  readonly realm: string
  readonly modes: readonly string[]
}

export function documentsOf(money: Money): RailDocuments {
  return {
    credential: 'Payment followed by an MPP credential for the challenge of the 402. Send the same body again with it.',
    challenge: requiredSchema,
    own: [manifestOf(money)],
    recipe: (facts, route) => ({
      client: 'mppx',
      title: 'MPP, from a terminal',
      words: needsOf(money, facts, route, 'MPPX_PRIVATE_KEY'),
      language: 'sh',
      code: command(money, facts, route),
    }),
    mcpRecipe: (facts, route) => mcpRecipe(money, facts, route),
  }
}

const requiredSchema = z
  .object({
    challengeId: z.string().describe('The challenge itself is in the WWW-Authenticate header'),
    price: z.object({ amount: z.string(), currency: z.string(), atomic: z.string() }),
  })
  .meta({ id: 'MppPaymentRequired' })

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

const manifestSchema = z
  .object({
    version: z.literal('1.0'),
    service: z.string(),
    description: z.string(),
    protocol: z.literal(traits.name),
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

/** Nobody specified it; clients of older shops look for these names. */
const manifestOf = (money: Money): RailDocument => ({
  path: '/.well-known/mpp',
  summary: 'The MPP routes, and how to pay them',
  title: 'MPP routes',
  schema: manifestSchema,
  write: (facts) => ({
    version: '1.0',
    service: facts.serviceName,
    description: facts.tagline,
    protocol: traits.name,
    authHeader: 'Authorization: Payment',
    openapi: `${facts.origin}/openapi.json`,
    catalog: `${facts.origin}/catalog`,
    ownershipProofs: [...facts.proofs],
    agentIntegration: {
      recommendedSdk: 'mppx',
      npmInstall: 'npm install mppx viem',
      canonicalUsage: facts.sold[0] ? command(money, facts, facts.sold[0]) : '',
      retryRule: 'Repeat the request with the same JSON body and Authorization: Payment <credential>.',
      supportedModes: [...money.modes],
      commonMistakes: [
        'Changing the body between the 402 and the paid call: the challenge is bound to its digest.',
        'Paying again after a 202 or a lost answer: read /payments/{reference} first.',
        'Paying a challenge after it has expired: ask for a fresh one.',
      ],
    },
    checkouts: Object.fromEntries(facts.sold.map((route) => [checkoutName(route), checkoutOf(money, route)])),
  }),
})

/** The main route of a surface goes by the name of the surface. */
function checkoutName({ path, surface }: SoldRoute): string {
  const last = path.split('/').at(-1)!
  return last === 'buy' ? surface : last
}

function checkoutOf({ realm, network, currency, recipient }: Money, route: SoldRoute): JsonObject {
  return {
    httpMethod: route.method,
    url: route.url,
    summary: route.summary,
    realm,
    network,
    currency: currency.address,
    currencySymbol: currency.code,
    payTo: recipient,
    ...route.paymentInfo(),
    inputSchema: route.input(),
    inputExample: route.example,
  }
}

/** A paid call with the stock `mppx` command. */
function command(money: Money, facts: RailFacts, route: SoldRoute): string {
  const rpcUrl = sandboxRpc(money, facts)
  const body = route.method === 'GET' ? '' : ` \\\n  -J '${stringify(route.example)}'`
  return `${rpcUrl ? `MPPX_RPC_URL=${rpcUrl} \\\n  ` : ''}npx mppx ${route.url}${body}`
}

function mcpRecipe(money: Money, facts: RailFacts, route: SoldRoute): Recipe {
  const rpcUrl = sandboxRpc(money, facts)
  const chain = rpcUrl
    ? `
const getClient = () => createClient({ chain: tempoModerato, transport: http('${rpcUrl}') })
const methods = [tempo.charge({ account, getClient })]`
    : `
const methods = [tempo.charge({ account })]`
  const chainImports = rpcUrl
    ? `
import { createClient, http } from 'viem'
import { tempoModerato } from 'viem/tempo/chains'`
    : ''
  return {
    client: '@modelcontextprotocol/sdk',
    title: 'MCP, as an agent does',
    words: `${needsOf(money, facts, route, 'PRIVATE_KEY')} An assistant needs only the address of the server, ${facts.mcpUrl}: looking, quoting and status cost nothing, and paid tools take ${facts.protocols} payments inside the call.`,
    language: 'js',
    code: `// npm install @modelcontextprotocol/sdk mppx viem
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { tempo } from 'mppx/client'
import { McpClient } from 'mppx/mcp/client'
import { privateKeyToAccount } from 'viem/accounts'${chainImports}

const account = privateKeyToAccount(process.env.PRIVATE_KEY)${chain}
const client = new Client({ name: 'my-agent', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(new URL('${facts.mcpUrl}')))
McpClient.wrap(client, { methods })

const bought = await client.callTool({
  name: '${route.tool}',
  arguments: ${exampleCode(route.example)},
})
console.log(bought.structuredContent)
await client.close()`,
  }
}

function needsOf({ currency, network }: Money, facts: RailFacts, route: SoldRoute, variable: string): string {
  return needs(facts, route, { currency: currency.code, network, variable })
}

/** The sandbox has a chain of its own; everywhere else clients know where the network is. */
function sandboxRpc({ chainId }: Money, { sandboxUrl }: RailFacts): string | null {
  return sandboxUrl && `${sandboxUrl}/rpc/${chainId}`
}
