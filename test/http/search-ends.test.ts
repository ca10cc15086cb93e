import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { x402Client } from '@x402/fetch'
import type { PrivateKeyAccount } from 'viem/accounts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'

// Mistakes of newcomers: whoever makes one reads in the first answer what is wrong and where it would be right.

type Refusal = {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly payment: {
    readonly taken: boolean | 'unknown'
    readonly sent?: { readonly protocol: string; readonly url: string | null }
    readonly wanted?: { readonly protocol: string; readonly header: string; readonly url: string }
  }
  readonly retry: { readonly action: string; readonly statusUrl: string | null }
  readonly routes?: readonly string[]
}

let shop: TestShop
let buyer: PrivateKeyAccount
before(async () => {
  shop = await startShop()
  buyer = await fundedWallet(shop)
})
after(() => shop.stop())

const urlOf = (rail: string) => `${shop.url}/agentic/${rail}/buy`
const lot = () => ({ saleId: 392, beneficiary: buyer.address })
const refusalIn = async (answer: Response) => (await answer.json()) as Refusal

async function paymentBy(way: RailUnderTest): Promise<string> {
  return way.pay(shop, buyer, await fetch(urlOf(way.rail), post(lot())))
}

describe('a payment in the wrong place', () => {
  const ways = [
    [x402UnderTest, 'mpp', 'Authorization: Payment'],
    [mppPullUnderTest, 'x402', 'PAYMENT-SIGNATURE'],
  ] as const
  for (const [way, other, header] of ways) {
    test(`${way.name} on a route of ${other}: 402, with the right header and the address that takes it; there it buys`, async () => {
      verifies('D8.7')
      const payment = await paymentBy(way)
      const answer = await fetch(urlOf(other), post(lot(), { [way.header]: payment }))
      const { status, code, detail, payment: told } = await refusalIn(answer)
      assert.deepEqual([answer.status, status, code, told.taken], [402, 402, 'payment_misplaced', false])
      assert.deepEqual(told.wanted, { protocol: other, header, url: urlOf(other) })
      assert.deepEqual([told.sent?.protocol, told.sent?.url], [way.rail, urlOf(way.rail)])
      assert.ok(detail.includes(header) && detail.includes(urlOf(way.rail)), detail)
      const there = await fetch(told.sent!.url!, post(lot(), { [way.header]: payment }))
      assert.equal(there.status, 200)
    })
  }

  test('money that its payer has sent already: 409, and nobody is told that paying is safe', async () => {
    const payment = await paymentBy(mppPushUnderTest)
    const answer = await fetch(urlOf('x402'), post(lot(), { authorization: payment }))
    const { code, payment: told, retry } = await refusalIn(answer)
    assert.deepEqual(
      [answer.status, code, told.taken, retry.action],
      [409, 'payment_misplaced', 'unknown', 'fix_request'],
    )
    assert.equal(answer.headers.get('payment-required'), null)
    assert.equal((await fetch(told.sent!.url!, post(lot(), { authorization: payment }))).status, 200)
  })

  test('the header of x402 version 1 is named', async () => {
    const answer = await fetch(urlOf('x402'), post(lot(), { 'x-payment': 'e30=' }))
    const { code, detail } = await refusalIn(answer)
    assert.deepEqual([answer.status, code], [402, 'payment_misplaced'])
    assert.match(detail, /X-PAYMENT.*version 1.*PAYMENT-SIGNATURE/)
    assert.ok(answer.headers.get('payment-required'))
  })
})

describe('a wrong EIP-712 domain', () => {
  const signedFor = async (change: (accepted: Record<string, unknown>, extra: Record<string, string>) => void) => {
    const unpaid = await fetch(urlOf('x402'), post(lot()))
    const required = JSON.parse(Buffer.from(unpaid.headers.get('payment-required')!, 'base64').toString())
    const asked = structuredClone(required.accepts[0])
    change(required.accepts[0], required.accepts[0].extra)
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(buyer))
    client.setSpendControls(false)
    const payload = { ...(await client.createPaymentPayload(required)), accepted: asked }
    const header = Buffer.from(JSON.stringify(payload)).toString('base64')
    return refusalIn(await fetch(urlOf('x402'), post(lot(), { 'payment-signature': header })))
  }

  test('the right one is told', async () => {
    const { status, code, detail } = await signedFor((_accepted, extra) =>
      Object.assign(extra, { name: 'USD Coin', version: '1' }),
    )
    assert.deepEqual([status, code], [402, 'payment_verification_failed'])
    assert.match(detail, /EIP-712 domain is name USDC, version 2, chain 84532, contract 0x/)
  })
})

test('a payment of another request leads to a place where its status is told', async () => {
  verifies('D8.8')
  const payment = await paymentBy(x402UnderTest)
  assert.equal((await fetch(urlOf('x402'), post(lot(), { 'payment-signature': payment }))).status, 200)
  const other = await fetch(urlOf('x402'), post({ ...lot(), saleId: 391 }, { 'payment-signature': payment }))
  const { code, retry } = await refusalIn(other)
  assert.deepEqual([other.status, code, retry.action], [409, 'payment_conflict', 'poll'])
  const told = await fetch(retry.statusUrl!)
  assert.equal(told.status, 200)
  assert.equal(((await told.json()) as { boundTo: { status: string } }).boundTo.status, 'confirmed')
})

test('every spelling of an id that a listing shows is taken, in bodies and in queries', async () => {
  verifies('D3.6')
  for (const saleId of [392, '392', 'sale:392']) {
    const body = await refusalIn(await fetch(urlOf('x402'), post({ ...lot(), saleId })))
    assert.equal(body.status, 402, String(saleId))
    const query = new URLSearchParams({ saleId: String(saleId), beneficiary: buyer.address })
    assert.equal((await fetch(`${shop.url}/agentic/x402/quote?${query}`)).status, 200, String(saleId))
  }
  for (const itemId of ['keys:5', 'shop:keys:5']) {
    const body = await refusalIn(await fetch(`${shop.url}/shop/x402/buy`, post({ itemId, nickname: 'Demo' })))
    assert.equal(body.status, 402, itemId)
    const query = new URLSearchParams({ itemId, nickname: 'Demo' })
    assert.equal((await fetch(`${shop.url}/shop/x402/quote?${query}`)).status, 200, itemId)
  }
  const { items } = (await (await fetch(`${shop.url}/catalog`)).json()) as {
    items: { catalogId: string; surface: string }[]
  }
  for (const { catalogId, surface } of items) {
    const [path, named] =
      surface === 'sale'
        ? ['agentic', { saleId: catalogId, beneficiary: buyer.address }]
        : ['shop', { itemId: catalogId, nickname: 'Ada' }]
    const { status } = await fetch(`${shop.url}/${path}/mpp/quote`, post(named))
    assert.equal(status, 200, catalogId)
  }
})

test('a wrong address is answered with those that there are, and with the one that was meant', async () => {
  verifies('D8.9')
  const { status, detail, routes } = await refusalIn(await fetch(`${shop.url}/agentic/x402/by`))
  assert.equal(status, 404)
  assert.match(detail, /there is (GET|POST) \/agentic\/x402\/buy/)
  for (const line of ['POST /agentic/mpp/buy', 'GET /catalog', 'GET /openapi.json', 'GET /payments/{reference}'])
    assert.ok(routes?.includes(line), line)
  const far = await refusalIn(await fetch(`${shop.url}/wp-admin/setup-config.php`))
  assert.doesNotMatch(far.detail, /there is/)
})
