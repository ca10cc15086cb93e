// An agent that shops over MCP: the official client, wrapped by mppx, which pays what a tool asks for. Run it against a shop, with the
// key of a wallet that has the network's stablecoin:
//
//   PRIVATE_KEY=0x… RPC_URL=http://localhost:4020/sandbox/rpc/42431 npx node examples/buy-over-mcp.ts http://localhost:4020/mcp
//
// The sandbox tells a funded key and its RPC address when it starts (GET /sandbox has both). Without RPC_URL the network's public one is asked.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { tempo } from 'mppx/client'
import { McpClient } from 'mppx/mcp/client'
import { createClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { tempoModerato, tempo as tempoNetwork } from 'viem/tempo/chains'

const [endpoint = 'http://localhost:4020/mcp'] = process.argv.slice(2)
const account = privateKeyToAccount(process.env['PRIVATE_KEY'] as `0x${string}`)

const networks = [tempoNetwork, tempoModerato]
const [charge] = tempo({
  account,
  getClient: ({ chainId }) =>
    createClient({
      chain: networks.find(({ id }) => id === chainId) ?? tempoModerato,
      transport: http(process.env['RPC_URL']),
    }),
})

const client = new Client({ name: 'example-agent', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(new URL(endpoint)))
const { tools } = await client.listTools()
console.log(
  'tools:',
  tools.map(({ name }) => name),
)

// From here on a tool that answers "payment required" is paid and called again, with the same arguments.
McpClient.wrap(client as unknown as Parameters<typeof McpClient.wrap>[0], { methods: [charge] })

type Offer = { surface: string; id: string; displayName: string; price: { amount: string }; available: boolean }
const listed = await client.callTool({ name: 'list_offers', arguments: { surface: 'sale', rail: 'mpp' } })
const { offers } = listed.structuredContent as { offers: Offer[] }
const lot = offers
  .filter(({ available }) => available)
  .sort((a, b) => Number(a.price.amount) - Number(b.price.amount))[0]!
console.log(`buying ${lot.displayName} for ${lot.price.amount}`)

const bought = await client.callTool({
  name: 'buy_sale_lot',
  arguments: { saleId: Number(lot.id), quantity: 1, beneficiary: account.address },
})
const purchase = bought.structuredContent as { status?: string; nfts?: unknown; paymentTx?: string }
console.log(purchase.status, purchase.nfts ?? bought.content)
if (purchase.paymentTx) console.log('paid by transaction', purchase.paymentTx)
await client.close()
process.exitCode = purchase.status === 'confirmed' ? 0 : 1
