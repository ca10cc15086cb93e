import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Address } from '../../src/base/address.ts'
import type { JsonObject } from '../../src/base/json.ts'
import { reconcile } from '../../src/ledger/reconcile.ts'
import type { RailKind } from '../../src/rails/kind.ts'
import { rails } from '../../src/rails/rails.ts'
import { surfaces } from '../../src/service/surfaces.ts'
import { orderCount, said, verdict } from '../checkout/counter.ts'
import { callTool } from '../mcp/rpc.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { arcade } from './arcade.ts'
import { headerOf, TILL, voucher, writeVoucher } from './voucher.ts'

// A rail is one folder: this shop takes a third kind of payment, and all that any file under src/ hears of it is one entry in a list.

let shop: TestShop
before(async () => {
  shop = await startShop({ surfaces: [...surfaces, arcade], rails: [...rails, voucher] })
})
after(() => shop.stop())

type Asked = { readonly slip: string; readonly asset: Address; readonly amount: string }
type Bought = { readonly orderId: string; readonly status: string; readonly price: { readonly amount: string } }
type Funds = 'authorized' | 'captured'

const dollars = (owner: Address) => erc20Balance(shop.chains.native, shop.config.x402!.asset, owner)

/** Asks for the price, as anybody who wants to pay does first. */
async function askedFor(path: string, body: unknown): Promise<Asked> {
  const unpaid = await fetch(shop.url + path, post(body))
  assert.equal(unpaid.status, 402)
  assert.ok(unpaid.headers.has('voucher-required'))
  return ((await unpaid.json()) as { voucher: Asked }).voucher
}

async function paidFor(path: string, body: unknown, payer: PrivateKeyAccount, funds: Funds) {
  const asked = await askedFor(path, body)
  return headerOf(await writeVoucher(asked, payer, shop.chains.native, { funds }))
}

for (const funds of ['authorized', 'captured'] as const)
  describe(`a voucher with ${funds} funds`, () => {
    let payer: PrivateKeyAccount
    before(async () => {
      payer = await fundedWallet(shop)
    })

    for (const [what, path, body, price] of [
      ['at a live price', '/arcade/voucher/buy', { ride: 'comet', seats: 2 }, '0.80'],
      ['at a fixed price', '/arcade/voucher/ticket', {}, '0.05'],
    ] as const)
      test(`buys over HTTP ${what}, once, and the same voucher gets the same answer`, async () => {
        const till = await dollars(TILL)
        const header = await paidFor(path, body, payer, funds)
        const first = await fetch(shop.url + path, post(body, header))
        const answer = await first.text()
        const bought = JSON.parse(answer) as Bought
        assert.deepEqual([first.status, bought.status, bought.price.amount], [200, 'confirmed', price])
        assert.match(first.headers.get('voucher-receipt') ?? '', new RegExp(bought.orderId))
        assert.equal((await dollars(TILL)) - till, BigInt(Math.round(Number(price) * 1e6)))
        const again = await fetch(shop.url + path, post(body, header))
        assert.deepEqual([again.status, await again.text()], [200, answer])
        assert.equal((await dollars(TILL)) - till, BigInt(Math.round(Number(price) * 1e6)))
      })

    test('buys by an MCP tool, and the receipt is in _meta', async () => {
      const input = { ride: 'comet', seats: 1 }
      const unpaid = await callTool(`${shop.url}/mcp`, 'buy_ride', input)
      assert.equal(unpaid.isError, true)
      const asked = unpaid._meta['voucher/required'] as Asked
      const paid = await writeVoucher(asked, payer, shop.chains.native, { funds })
      const call = () => callTool(`${shop.url}/mcp`, 'buy_ride', input, { meta: { 'voucher/payment': paid } })
      const result = await call()
      assert.equal((result.structuredContent as unknown as Bought).status, 'confirmed')
      assert.equal((result._meta['voucher/receipt'] as JsonObject)['transaction'], paid.hash)
      assert.deepEqual((await call()).structuredContent, result.structuredContent)
    })
  })

test('authorized funds that do not fit the request are refused, and nothing is taken', async () => {
  const payer = await fundedWallet(shop)
  const [before, orders] = [await dollars(payer.address), await orderCount(shop)]
  const header = await paidFor('/arcade/voucher/buy', { ride: 'comet', seats: 1 }, payer, 'authorized')
  const other = await fetch(`${shop.url}/arcade/voucher/buy`, post({ ride: 'comet', seats: 2 }, header))
  assert.deepEqual(await verdict(other), [402, 'invalid_challenge'])
  assert.deepEqual([await dollars(payer.address), await orderCount(shop)], [before, orders])
})

test('captured funds that buy nothing are never asked for again, and go back', async () => {
  const payer = await fundedWallet(shop)
  const before = await dollars(payer.address)
  const asked = await askedFor('/arcade/voucher/buy', { ride: 'comet', seats: 2 })
  const short = await writeVoucher(asked, payer, shop.chains.native, { funds: 'captured', amount: 300_000n })
  assert.equal(await dollars(payer.address), before - 300_000n)
  const response = await fetch(`${shop.url}/arcade/voucher/buy`, post({ ride: 'comet', seats: 2 }, headerOf(short)))
  const { payment, refund } = await said(response)
  assert.deepEqual([response.status, payment.taken, refund?.status], [409, true, 'refunding'])
  const { reconcileContext } = shop.service.operations
  const policy = { ...reconcileContext.policy, returnAfterSeconds: 0 }
  for (let look = 1; look <= 2; look++) await reconcile({ ...reconcileContext, policy })
  assert.equal(await dollars(payer.address), before)
})

test('money that its payer says is on its way, and is not, gets no goods', async () => {
  const payer = await fundedWallet(shop)
  const asked = await askedFor('/arcade/voucher/ticket', {})
  const { raw: _, ...unsent } = await writeVoucher(asked, payer, shop.chains.native, { funds: 'authorized' })
  const response = await fetch(`${shop.url}/arcade/voucher/ticket`, post({}, headerOf(unsent)))
  assert.equal(response.status, 202)
  assert.notEqual((await said(response)).status, 'confirmed')
})

test('what its payments need is loaded before anybody can ask for anything', async () => {
  let port = 0
  let wasAnswered: boolean | null = null
  const warmUp = async () => {
    wasAnswered = await fetch(`http://127.0.0.1:${port}/health/live`).then(
      () => true,
      () => false,
    )
  }
  const heavy: RailKind = {
    ...voucher,
    accounts: (config) =>
      voucher.accounts(config).map((account) => ({
        ...account,
        open: (...parts) => ({ ...account.open(...parts), warmUp }),
      })),
  }
  const configure = (config: TestShop['config']) => {
    port = config.http.port
    return config
  }
  await shop.replica({ rails: [...rails, heavy], startsCold: false, configure })
  assert.equal(wasAnswered, false)
})

test('an agent in a browser may send it, and read what it is asked and given', async () => {
  const preflight = await fetch(`${shop.url}/arcade/voucher/buy`, { method: 'OPTIONS' })
  for (const name of ['voucher', 'voucher-book', 'payment-signature', 'authorization'])
    assert.ok(preflight.headers.get('access-control-allow-headers')!.split(', ').includes(name), name)
  const { headers } = await fetch(`${shop.url}/arcade/voucher/buy`, post({ ride: 'comet', seats: 1 }))
  for (const name of ['Voucher-Required', 'Voucher-Receipt'])
    assert.ok(headers.get('access-control-expose-headers')!.split(', ').includes(name), name)
  assert.equal(headers.get('vary'), 'Voucher, Authorization, PAYMENT-SIGNATURE, Origin, Accept')
})

test('an agent finds it with list_offers and in the tools', async () => {
  const { structuredContent } = await callTool(`${shop.url}/mcp`, 'list_offers', { rail: 'voucher' })
  const { offers, services } = structuredContent as Record<'offers' | 'services', { protocols: string[] }[]>
  assert.ok(offers!.length > 0 && services!.length > 0)
  for (const { protocols } of [...offers!, ...services!]) assert.ok(protocols.includes('voucher'))
})

test('it is in every document', async () => {
  for (const [path, word] of [
    ['/openapi.json', '/arcade/voucher/buy'],
    ['/openapi.json', 'PaymentRequired_voucher'],
    ['/openapi.json', '"enum":["x402","mpp","voucher"]'],
    ['/openapi.full.json', '/arcade/voucher/quote'],
    ['/catalog', '"sale-voucher"'],
    ['/agentic/voucher/offers', '"392"'],
    ['/.well-known/voucher', '/shop/voucher/buy'],
    ['/llms.txt', 'paid with Voucher'],
    ['/llms-full.txt', '/craft/voucher/burn'],
    ['/skill.md', 'a pen'],
    ['/', 'what vouchers buy'],
    ['/', 'write a voucher for'],
    ['/mcp/server-card', 'x402, MPP or Voucher'],
  ] as const) {
    const response = await fetch(shop.url + path)
    assert.equal(response.status, 200, path)
    assert.ok((await response.text()).includes(word), `${word} is not in ${path}`)
  }
})
