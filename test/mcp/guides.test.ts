import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fundedWallet, post, x402Payer } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { callTool } from './rpc.ts'

// What a host finds beside the tools, with the official client.

let shop: TestShop
let client: Client
before(async () => {
  shop = await startShop({ withSandboxRoutes: true })
  client = new Client({ name: 'guide', version: '1.0.0' })
  // Its types do not allow for optional members that may be undefined; ours do.
  await client.connect(new StreamableHTTPClientTransport(new URL(`${shop.url}/mcp`)) as never)
})
after(async () => {
  await client.close()
  await shop.stop()
})

test('the server shows itself with icons, and tells of sandbox and faucet', async () => {
  const { icons } = client.getServerVersion() as unknown as { icons: { src: string; mimeType: string }[] }
  for (const { src, mimeType } of icons) assert.equal((await fetch(src)).headers.get('content-type'), mimeType)
  assert.match(client.getInstructions()!, /This is a sandbox.*\/sandbox\/faucet/)
})

test('prompts buy, track and explain refunds; what a person fills in is quoted', async () => {
  verifies('D19.6')
  const { prompts } = await client.listPrompts()
  assert.deepEqual(
    prompts.map(({ name }) => name),
    ['buy', 'track', 'refund-rights'],
  )
  const { messages } = await client.getPrompt({ name: 'buy', arguments: { what: 'a "flag"', budget: '1' } })
  const { content, role } = messages[0]!
  assert.equal(role, 'user')
  assert.ok((content as { text: string }).text.includes('I want to buy: "a \\"flag\\""'))
  await assert.rejects(client.getPrompt({ name: 'track' }), /needs reference/)
  await assert.rejects(client.getPrompt({ name: 'nothing' }), /Unknown prompt/)
})

test('templates lead to items and payments', async () => {
  const { resourceTemplates } = await client.listResourceTemplates()
  assert.deepEqual(
    resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    ['catalog://item/{catalogId}', 'payment://{reference}'],
  )
  const { contents } = await client.readResource({ uri: 'catalog://item/sale:392' })
  assert.equal(JSON.parse((contents[0] as { text: string }).text).displayName, 'Banner Fragment')
  await assert.rejects(client.readResource({ uri: 'payment://nothing' }), /Resource not found/)
})

test('every tool has an output schema, and what it answers matches: asked, paid, and told', async () => {
  const { tools } = await client.listTools()
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const validators = new Map(tools.map(({ name, outputSchema }) => [name, ajv.compile(outputSchema!)]))
  const assertMatches = (tool: string, content: unknown) =>
    assert.ok(validators.get(tool)!(content), `${tool}: ${JSON.stringify(validators.get(tool)!.errors)}`)
  const buyer = await fundedWallet(shop)
  // The official client checks structured content against the schema by itself, errors included.
  const asked = await client.callTool({ name: 'buy_sale_lot', arguments: { saleId: 392, beneficiary: buyer.address } })
  assert.ok(asked.isError)
  assertMatches('buy_sale_lot', asked['structuredContent'])
  const bought = await x402Payer(buyer)(
    `${shop.url}/agentic/x402/buy`,
    post({ saleId: 392, beneficiary: buyer.address }),
  )
  const purchase = (await bought.json()) as { orderId: string }
  assertMatches('buy_sale_lot', purchase)
  for (const argument of ['reference', 'paymentTx']) {
    const { structuredContent } = await callTool(`${shop.url}/mcp`, 'get_purchase_status', {
      [argument]: purchase.orderId,
    })
    assertMatches('get_purchase_status', structuredContent)
  }
})

test('a fixed price stands where clients look for it, as it is now', async () => {
  const priceOf = async () => {
    const { tools } = await client.listTools()
    return tools.find(({ name }) => name === 'check_payment_gateway')?._meta?.['agents-x402/priceUSD']
  }
  assert.equal(await priceOf(), 0.001)
})

test('the registry entry has all that the registry asks for', async () => {
  const entry = (await (await fetch(`${shop.url}/.well-known/mcp/server.json`)).json()) as Record<string, unknown>
  assert.match(
    String(entry['$schema']),
    /^https:\/\/static\.modelcontextprotocol\.io\/schemas\/\d{4}-\d\d-\d\d\/server\.schema\.json$/,
  )
  assert.match(String(entry['name']), /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
  assert.ok(String(entry['description']).length <= 100)
  assert.match(String(entry['version']), /^\d+\.\d+\.\d+/)
  assert.deepEqual(entry['remotes'], [{ type: 'streamable-http', url: `${shop.url}/mcp` }])
})
