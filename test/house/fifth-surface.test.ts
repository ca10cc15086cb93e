import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { surfaces } from '../../src/service/surfaces.ts'
import { said } from '../checkout/counter.ts'
import { mppxClient } from '../mcp/payers.ts'
import { callTool } from '../mcp/rpc.ts'
import { fundedWallet, mppPayer, post, x402Payer } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { arcade } from './arcade.ts'

// A surface is one folder: this shop sells a fifth family of goods, and all that any file under src/ hears of it is one entry in a list.

let shop: TestShop
before(async () => {
  shop = await startShop({ surfaces: [...surfaces, arcade] })
})
after(() => shop.stop())

type Bought = {
  readonly status: string
  readonly seats: readonly string[]
  readonly price: { readonly amount: string }
}

test('stock clients buy from it on both rails, at a fixed and at a live price', async () => {
  const payer = await fundedWallet(shop)
  const clients = { x402: x402Payer(payer), mpp: mppPayer(shop, payer, 'pull') }
  for (const [rail, pay] of Object.entries(clients)) {
    const ride = await pay(`${shop.url}/arcade/${rail}/buy`, post({ ride: 'comet', seats: 2 }))
    const bought = (await ride.json()) as Bought
    assert.deepEqual(
      [ride.status, bought.status, bought.seats.length, bought.price.amount],
      [200, 'confirmed', 2, '0.80'],
    )
    const ticket = await pay(`${shop.url}/arcade/${rail}/ticket`, post({}))
    assert.deepEqual([ticket.status, ((await ticket.json()) as Bought).price.amount], [200, '0.05'])
  }
})

test('a purchase is told by its own status route and by /payments', async () => {
  const payer = await fundedWallet(shop)
  const bought = await said(await x402Payer(payer)(`${shop.url}/arcade/x402/ticket`, post({})))
  for (const path of [`/arcade/x402/purchases/${bought.orderId}`, `/payments/${bought.orderId}`])
    assert.equal((await fetch(shop.url + path)).status, 200, path)
})

test('an agent finds it with list_offers and buys it over MCP', async () => {
  const payer = await fundedWallet(shop)
  const client = await mppxClient(shop, payer, 'SDK v1')
  try {
    const { structuredContent } = await callTool(`${shop.url}/mcp`, 'list_offers', { surface: 'arcade' })
    const { offers, services } = structuredContent as {
      offers: { id: string; quoteTool: string; buyTool: string }[]
      services: { tool: string; priceUsd: string }[]
    }
    assert.deepEqual(
      offers.map(({ id, quoteTool, buyTool }) => [id, quoteTool, buyTool]),
      [
        ['comet', 'quote_ride', 'buy_ride'],
        ['ghosts', 'quote_ride', 'buy_ride'],
      ],
    )
    assert.deepEqual(
      services.map(({ tool, priceUsd }) => [tool, priceUsd]),
      [['buy_ticket', '0.05']],
    )
    const result = await client.callTool('buy_ride', { ride: 'comet', seats: 1 })
    assert.equal((result.structuredContent as unknown as Bought).status, 'confirmed')
  } finally {
    await client.close()
  }
})

test('it is in every document', async () => {
  for (const [path, word] of [
    ['/openapi.json', '/arcade/mpp/buy'],
    ['/openapi.full.json', '/arcade/x402/quote'],
    ['/catalog', '"arcade-mpp"'],
    ['/catalog', '"arcade:comet"'],
    ['/discovery/resources', '/arcade/x402/ticket'],
    ['/.well-known/x402', '/arcade/x402/buy'],
    ['/.well-known/mpp', '/arcade/mpp/buy'],
    ['/llms.txt', 'rides'],
    ['/llms-full.txt', '/arcade/x402/buy'],
    ['/skill.md', 'rides'],
    ['/arcade/mpp/offers', 'The Comet'],
    ['/', 'rides'],
  ] as const) {
    const response = await fetch(shop.url + path)
    assert.equal(response.status, 200, path)
    assert.ok((await response.text()).includes(word), `${word} is not in ${path}`)
  }
})
