import { stringify } from '../../base/json.ts'
import { formatUsd } from '../../base/money.ts'
import type { RailName } from '../../domain/rail.ts'
import type { PaidRoute } from '../../domain/route.ts'
import { resourceOf } from '../shop/paid-handler.ts'
import { type Facts, pricedOn } from './facts.ts'
import { protocolWords } from './guidance.ts'

/** Something to copy and run: a purchase with a client that anybody can install. */
export type Recipe = {
  readonly client: string
  readonly title: string
  readonly words: string
  readonly language: 'js' | 'sh' | 'json'
  readonly code: string
}

/** One recipe for each stock client that can buy at this host. A test runs each of them as it stands. */
export function recipes(facts: Facts): readonly Recipe[] {
  const x402 = exampleRoute(facts, 'x402')
  const mpp = exampleRoute(facts, 'mpp')
  return [
    ...(x402 ? [fetchRecipe(facts, x402)] : []),
    ...(mpp ? [mppxRecipe(facts, mpp)] : []),
    mpp ? mcpRecipe(facts, mpp) : mcpSetting(facts),
  ]
}

/** The plainest way to see a purchase through: a route whose example can be delivered to anybody. */
function exampleRoute(facts: Facts, rail: RailName): PaidRoute | undefined {
  const routes = pricedOn(facts, rail).map(({ route }) => route)
  return (
    routes.find(({ surface }) => surface === 'sale') ?? routes.find(({ surface }) => surface === 'shop') ?? routes[0]
  )
}

function fetchRecipe(facts: Facts, route: PaidRoute): Recipe {
  const { rail } = route.offer
  const { url } = resourceOf(facts.config.http, route)
  const init =
    route.method === 'GET'
      ? ''
      : `, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(${stringify(route.example)}),
}`
  return {
    client: '@x402/fetch',
    title: 'x402, from JavaScript',
    words: `${needs(facts, route, 'PRIVATE_KEY')} No gas is needed.`,
    language: 'js',
    code: `// npm install @x402/fetch @x402/evm viem
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.PRIVATE_KEY)
const client = new x402Client().register('${rail.network}', new ExactEvmScheme(account))
client.setSpendControls({ maxAmountPerPayment: '$${costOf(facts, route) ?? '1.00'}' })
const pay = wrapFetchWithPayment(fetch, client)

const response = await pay('${url}'${init})
console.log(response.status, await response.json())`,
  }
}

function mppxRecipe(facts: Facts, route: PaidRoute): Recipe {
  return {
    client: 'mppx',
    title: 'MPP, from a terminal',
    words: needs(facts, route, 'MPPX_PRIVATE_KEY'),
    language: 'sh',
    code: mppxCommand(facts, route),
  }
}

/** A paid call with the stock `mppx` command. */
export function mppxCommand(facts: Facts, route: PaidRoute): string {
  const { url } = resourceOf(facts.config.http, route)
  const rpcUrl = sandboxRpc(facts)
  const body = route.method === 'GET' ? '' : ` \\\n  -J '${stringify(route.example)}'`
  return `${rpcUrl ? `MPPX_RPC_URL=${rpcUrl} \\\n  ` : ''}npx mppx ${url}${body}`
}

function mcpRecipe(facts: Facts, route: PaidRoute): Recipe {
  const rpcUrl = sandboxRpc(facts)
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
    words: `${needs(facts, route, 'PRIVATE_KEY')} An assistant needs only the address of the server, ${facts.mcpUrl}: looking, quoting and status cost nothing, and paid tools take ${protocolWords(facts)} payments inside the call.`,
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
  name: '${route.tools[0]?.name}',
  arguments: ${stringify(route.example)},
})
console.log(bought.structuredContent)
await client.close()`,
  }
}

/** Without MPP, no client that anybody can install pays a tool by itself. */
function mcpSetting(facts: Facts): Recipe {
  return {
    client: 'MCP',
    title: 'MCP, from an assistant',
    words: `Looking, quoting and status cost nothing. Paid tools take ${protocolWords(facts)} payments inside the call.`,
    language: 'json',
    code: stringify({ mcpServers: { sutler: { type: 'http', url: facts.mcpUrl } } }, 2),
  }
}

/** What the example of a route costs now, in dollars; null where nothing on the shelf says so. */
function costOf({ items, paid }: Facts, route: PaidRoute): string | null {
  const { surface, example } = route
  const fixed = paid.find((priced) => priced.route === route)?.amount ?? null
  if (fixed !== null) return formatUsd(fixed)
  const wanted = String(example['saleId'] ?? example['itemId'])
  return items.find((item) => item.surface === surface && item.id === wanted)?.price.amount ?? null
}

function needs(facts: Facts, route: PaidRoute, variable: string): string {
  const { currency, network } = route.offer.rail
  const cost = costOf(facts, route)
  const money = cost ? `Costs ${cost} ${currency} on ${network} now.` : `Needs ${currency} on ${network}.`
  return facts.sandboxUrl ? `${money} A funded ${variable} is at ${facts.sandboxUrl}.` : money
}

/** The sandbox has a chain of its own; everywhere else clients know where the network is. */
function sandboxRpc({ config, sandboxUrl }: Facts): string | null {
  return sandboxUrl && config.mpp ? `${sandboxUrl}/rpc/${config.mpp.chain.chainId}` : null
}
