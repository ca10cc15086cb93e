import { stringify } from '../../base/json.ts'
import type { RailName } from '../../domain/rail.ts'
import type { PaidRoute } from '../route.ts'
import { resourceOf } from '../selling.ts'
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

/** One recipe for each stock client that can buy at this host. They are run as they stand by a test. */
export function recipes(facts: Facts): readonly Recipe[] {
  const x402 = exampleRoute(facts, 'x402')
  const mpp = exampleRoute(facts, 'mpp')
  return [...(x402 ? [fetchRecipe(facts, x402)] : []), ...(mpp ? [mppxRecipe(facts, mpp)] : []), mcpRecipe(facts)]
}

/** The cheapest way to see a purchase through: a route whose example can be delivered to anybody. */
function exampleRoute(facts: Facts, rail: RailName): PaidRoute | undefined {
  const routes = pricedOn(facts, rail).map(({ route }) => route)
  return (
    routes.find(({ surface }) => surface === 'sale') ?? routes.find(({ surface }) => surface === 'shop') ?? routes[0]
  )
}

function fetchRecipe({ config, sandboxUrl }: Facts, route: PaidRoute): Recipe {
  const { rail } = route.offer
  const { url } = resourceOf(config.http, route)
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
    words: `Needs ${rail.currency} on ${rail.network}, and no gas.${sandboxUrl ? ` A funded PRIVATE_KEY is at ${sandboxUrl}.` : ''}`,
    language: 'js',
    code: `// npm install @x402/fetch @x402/evm viem
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.PRIVATE_KEY)
const client = new x402Client().register('${rail.network}', new ExactEvmScheme(account))
client.setSpendControls({ maxAmountPerPayment: '$20' })
const pay = wrapFetchWithPayment(fetch, client)

const response = await pay('${url}'${init})
console.log(response.status, await response.json())`,
  }
}

function mppxRecipe(facts: Facts, route: PaidRoute): Recipe {
  const { rail } = route.offer
  const { sandboxUrl } = facts
  return {
    client: 'mppx',
    title: 'MPP, from a terminal',
    words: `Needs ${rail.currency} on ${rail.network}.${sandboxUrl ? ` A funded MPPX_PRIVATE_KEY is at ${sandboxUrl}.` : ''}`,
    language: 'sh',
    code: mppxCommand(facts, route),
  }
}

/** A paid call with the stock `mppx` command. */
export function mppxCommand({ config, sandboxUrl }: Facts, route: PaidRoute): string {
  const { url } = resourceOf(config.http, route)
  // The sandbox has a chain of its own; everywhere else the command knows where the network is.
  const chain = sandboxUrl ? `MPPX_RPC_URL=${sandboxUrl}/rpc/${config.mpp?.chain.chainId} \\\n  ` : ''
  const body = route.method === 'GET' ? '' : ` \\\n  -J '${stringify(route.example)}'`
  return `${chain}npx mppx ${url}${body}`
}

function mcpRecipe(facts: Facts): Recipe {
  return {
    client: 'MCP',
    title: 'MCP, from an assistant',
    words: `Looking, quoting and status cost nothing. Paid tools take ${protocolWords(facts)} payments inside the call.`,
    language: 'json',
    code: stringify({ mcpServers: { sutler: { type: 'http', url: facts.mcpUrl } } }, 2),
  }
}
