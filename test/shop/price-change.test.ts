import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { Secret } from '../../src/base/secret.ts'
import type { Service } from '../../src/service/service.ts'
import { movableClock } from '../checkout/counter.ts'
import { encoded, paymentFor, type Required } from '../checkout/x402-wallet.ts'
import { mppCredential, x402Payload } from '../mcp/payers.ts'
import { callTool } from '../mcp/rpc.ts'
import { post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { deedsAbout, done } from './shelf-desk.ts'
import { linkedBuyer } from './support.ts'

// A price changes between the 402 and the payment, on one replica or between two, on both rails, over HTTP and MCP.

let shop: TestShop
let other: Service
let buyer: { account: PrivateKeyAccount; nickname: string }
const clock = movableClock()
const otherClock = movableClock()

before(async () => {
  shop = await startShop({ clock })
  other = await shop.replica({ clock: otherClock })
  buyer = await linkedBuyer(shop)
})
after(() => shop.stop())

/** What replicas have read is read again. Not too often: the clients' own clock stays behind, and what they sign runs out. */
const lookAgain = () => {
  clock.move(2_001)
  otherClock.move(2_001)
}

type Sold = { readonly good: string; readonly rail: RailUnderTest; readonly path: string; readonly init: RequestInit }

const services: readonly Sold[] = [
  { good: 'healthProbe', rail: x402UnderTest, path: '/x402/cheap-health', init: {} },
  { good: 'playerLookup', rail: mppPullUnderTest, path: '/shop/mpp/player-lookup', init: { method: 'POST' } },
  { good: 'playerLookup', rail: mppPushUnderTest, path: '/shop/mpp/player-lookup', init: { method: 'POST' } },
]

async function priced(url: string, { rail, path, init }: Sold): Promise<string> {
  return rail.pay(shop, buyer.account, await fetch(url + path, init))
}

async function paid(url: string, { rail, path, init }: Sold, credential: string) {
  const before = await rail.balance(shop, buyer.account.address)
  const response = await fetch(url + path, { ...init, headers: { ...init.headers, [rail.header]: credential } })
  const body = (await response.json()) as { price?: { atomic: string }; code?: string; payment?: unknown }
  const spent = before - (await rail.balance(shop, buyer.account.address))
  return { status: response.status, body, spent }
}

const setPrices = async (price: string) => {
  await setPrice('healthProbe', price)
  await setPrice('playerLookup', price)
}

const setPrice = async (good: string, price: string | null, by = 'mara') => {
  await done(shop, `/operator/prices/${good}`, { price, by })
}

test('what was challenged before a change is sold at its own price, by either replica, on every rail', async () => {
  await setPrices('0.01')
  lookAgain()
  const here = await Promise.all(services.map((sold) => priced(shop.url, sold)))
  const there = await Promise.all(services.map((sold) => priced(other.url, sold)))
  await setPrices('0.05')
  lookAgain()
  for (const [index, sold] of services.entries()) {
    for (const [url, credential] of [
      [other.url, here[index]!],
      [shop.url, there[index]!],
    ] as const) {
      const { status, body, spent } = await paid(url, sold, credential)
      assert.deepEqual([status, body.price?.atomic], [200, '10000'], `${sold.rail.name}: ${JSON.stringify(body)}`)
      // A pushed payment has moved before we look.
      if (sold.rail !== mppPushUnderTest) assert.ok(spent >= 10_000n && spent < 50_000n, String(spent))
    }
    for (const url of [shop.url, other.url]) {
      const { status, body } = await paid(url, sold, await priced(url, sold))
      assert.deepEqual([status, body.price?.atomic], [200, '50000'], sold.rail.name)
    }
  }
})

test('a replica that has not read the new price yet takes it all the same', async () => {
  await setPrices('0.02')
  lookAgain()
  for (const { path, init } of services) await fetch(other.url + path, init)
  await setPrices('0.03')
  clock.move(2_001)
  for (const sold of services) {
    const { status, body } = await paid(other.url, sold, await priced(shop.url, sold))
    assert.deepEqual([status, body.price?.atomic], [200, '30000'], `${sold.rail.name}: ${JSON.stringify(body)}`)
  }
})

test('over MCP a challenge keeps its price too, on both rails, and list_offers tells the new one', async () => {
  await setPrice('healthProbe', '0.011')
  await setPrice('playerLookup', '0.012')
  lookAgain()
  const url = `${shop.url}/mcp`
  const asked = async (tool: string, member: string) => (await callTool(url, tool, {}))._meta[member]
  const probe = await x402Payload(buyer.account, await asked('check_payment_gateway', 'x402/error'))
  const lookup = await mppCredential(
    shop,
    buyer.account,
    await asked('lookup_player', 'org.paymentauth/payment-required'),
  )
  await setPrice('healthProbe', '0.021')
  await setPrice('playerLookup', '0.022')
  lookAgain()
  const bought = async (tool: string, meta: Record<string, unknown>) => {
    const { structuredContent } = await callTool(`${other.url}/mcp`, tool, {}, { meta })
    return (structuredContent as { price?: { atomic: string } }).price?.atomic
  }
  assert.equal(await bought('check_payment_gateway', { 'x402/payment': probe }), '11000')
  assert.equal(await bought('lookup_player', { 'org.paymentauth/credential': lookup }), '12000')
  const { services: listed } = (await callTool(url, 'list_offers', {})).structuredContent as {
    services: { tool: string; priceUsd: string }[]
  }
  const price = (tool: string) => listed.find((service) => service.tool === tool)?.priceUsd
  assert.deepEqual([price('check_payment_gateway'), price('lookup_player')], ['0.021', '0.022'])
})

test('a discount that is given or taken back between the 402 and the payment changes nothing for who was quoted', async () => {
  const body = post({ itemId: 'keys:5', nickname: buyer.nickname })
  const discount = (percent: number) =>
    done(shop, '/operator/discounts', { itemId: 'keys:5', nickname: buyer.nickname, percent, by: 'mara' })
  for (const rail of [x402UnderTest, mppPullUnderTest]) {
    const sold: Sold = { good: 'shopItem', rail, path: `/shop/${rail.rail}/buy`, init: body }
    await discount(0)
    const full = await priced(shop.url, sold)
    await discount(40)
    const less = await priced(shop.url, sold)
    await discount(10)
    for (const [credential, atomic] of [
      [full, '1500000'],
      [less, '900000'],
    ] as const) {
      const { body } = await paid(other.url, sold, credential)
      assert.equal(body.price?.atomic, atomic, `${rail.name}: ${JSON.stringify(body)}`)
    }
  }
  const [first] = await deedsAbout(shop, `keys:5/${await playerId()}`)
  assert.deepEqual([first?.deed, first?.by, first?.after], ['discount.changed', 'mara', { percent: 40 }])
})

async function playerId(): Promise<string> {
  const { rows } = await shop.store.db.query<{ id: string }>('select id from players where nickname = $1', [
    buyer.nickname,
  ])
  return rows[0]!.id
}

type Quote = Parameters<typeof x402Payload>[1] & { accepts: { amount: string; extra: { claim?: string } }[] }

async function quoteOf({ path, init }: Sold): Promise<Quote> {
  const unpaid = await fetch(shop.url + path, init)
  return JSON.parse(Buffer.from(unpaid.headers.get('payment-required')!, 'base64').toString()) as Quote
}

/** What the stock client makes of a quote. */
async function payFor(quote: Quote): Promise<string> {
  return Buffer.from(JSON.stringify(await x402Payload(buyer.account, quote))).toString('base64')
}

/** The same quote with another price, or with another claim. */
const changed = (quote: Quote, change: { amount?: string; claim?: string | undefined }): Quote => ({
  ...quote,
  accepts: quote.accepts.map((offer) => {
    const { amount = offer.amount, claim = offer.extra.claim } = change
    return { ...offer, amount, extra: { ...offer.extra, claim } }
  }) as Quote['accepts'],
})

const buying = (quantity: number): Sold => ({
  good: 'shopItem',
  rail: x402UnderTest,
  path: '/shop/x402/buy',
  init: post({ itemId: 'hoard', nickname: buyer.nickname, quantity }),
})

test('only a payer who was quoted an old price pays it: for that very request, at that very price', async () => {
  verifies('D5.10')
  await done(shop, '/operator/items', { id: 'hoard', name: 'Hoard', price: '0.50' })
  const one = await quoteOf(buying(1))
  const many = await quoteOf(buying(100))
  const question = await quoteOf({ ...buying(1), init: { method: 'POST' } })
  const elsewhere = await quoteOf({
    ...buying(1),
    path: '/agentic/x402/buy',
    init: post({ saleId: 392, beneficiary: buyer.account.address }),
  })
  await done(shop, '/operator/items/hoard', { price: '50.00' })
  const fresh = await quoteOf(buying(100))
  assert.equal(fresh.accepts[0]!.amount, '5000000000')
  const amount = '50000000'
  for (const [what, quote] of [
    ['no claim', changed(many, { claim: '' })],
    ['a claim made up', changed(many, { claim: 'A'.repeat(64) })],
    ['a claim of today', changed(fresh, { amount })],
    ['of another quantity', changed(one, { amount })],
    ['of another route', changed(many, { claim: elsewhere.accepts[0]!.extra.claim })],
    ['of a price question', changed(many, { claim: question.accepts[0]!.extra.claim })],
  ] as const) {
    const { status, spent } = await paid(shop.url, buying(100), await payFor(quote))
    assert.deepEqual([status, spent], [402, 0n], what)
  }
  for (const url of [shop.url, other.url]) {
    const { status, body } = await paid(url, buying(100), await payFor(many))
    assert.deepEqual([status, body.price?.atomic], [200, amount], JSON.stringify(body))
  }
})

test('a quote holds while the secret that signed it is rotated', async () => {
  await done(shop, '/operator/items/hoard', { price: '0.08' })
  const quote = await quoteOf(buying(1))
  await done(shop, '/operator/items/hoard', { price: '0.09' })
  const rotated = (secrets: readonly [Secret, ...Secret[]]) =>
    shop.replica({ clock: otherClock, configure: (config) => ({ ...config, mpp: { ...config.mpp!, secrets } }) })
  const [next, former] = [new Secret('the secret after the rotation of this test'), shop.config.mpp!.secrets[0]]
  const late = await rotated([next])
  assert.equal((await paid(late.url, buying(1), await payFor(quote))).status, 402)
  const during = await rotated([next, former])
  assert.equal((await paid(during.url, buying(1), await payFor(quote))).body.price?.atomic, '80000')
})

test('whoever hoards a quote pays nothing and gets nothing once it has ended, however late they sign', async () => {
  await setPrice('healthProbe', '0.001')
  lookAgain()
  const [sold] = services as [Sold]
  const hoarded = await quoteOf(sold)
  await setPrice('healthProbe', '0.004')
  clock.move(301_000)
  const payment = await paymentFor(buyer.account, hoarded as unknown as Required, { nowMs: clock.now() })
  const { status, body, spent } = await paid(shop.url, sold, encoded(payment))
  assert.deepEqual([status, spent], [402, 0n])
  assert.deepEqual((body as { payment: { taken: boolean } }).payment.taken, false)
})
