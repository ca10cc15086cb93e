import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { decodeFunctionData, type Hex } from 'viem'
import { testUsdc } from '../../../src/artifacts/TestUsdc.ts'
import { encoded, requiredOf, type X402Payment } from '../../checkout/x402-wallet.ts'
import { fundedWallet, mppPayer, post, x402Payer } from '../../support/buyers.ts'
import { edited, mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { verifies } from '../../support/verifies.ts'

// What the chain shows opens only what the chain shows; a guessed key opens nothing more.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

const BODY = { itemId: 'keys:5', quantity: 1, nickname: 'Demo' }
const url = () => `${shop.url}/shop/x402/buy`
const PRIVATE = ['orderId', 'flowId', 'receipt', 'recipient'] as const

type Bought = { readonly orderId: string; readonly paymentTx: Hex; readonly statusUrl: string; readonly status: string }

function assertPublic(text: string, { orderId }: Bought): void {
  const body = JSON.parse(text) as Record<string, unknown>
  for (const member of PRIVATE) assert.equal(member in body, false, member)
  assert.ok(!text.includes(orderId) && !text.includes('Demo'))
}

/** The whole payment, as anybody reads it from the settlement's calldata. */
async function rebuilt({ paymentTx }: Bought, body: object): Promise<string> {
  const sent = (await shop.chains.native.request({ method: 'eth_getTransactionByHash', params: [paymentTx] })) as {
    input: Hex
  }
  const { args } = decodeFunctionData({ abi: testUsdc.abi, data: sent.input })
  const [from, to, value, validAfter, validBefore, nonce, v, r, s] = args as unknown as [
    Hex,
    Hex,
    bigint,
    bigint,
    bigint,
    Hex,
    number,
    Hex,
    Hex,
  ]
  const required = requiredOf(await fetch(url(), post(body)))
  const payment: X402Payment = {
    x402Version: 2,
    payload: {
      authorization: {
        from,
        to,
        value: value.toString(),
        validAfter: validAfter.toString(),
        validBefore: validBefore.toString(),
        nonce,
      },
      signature: `${r}${s.slice(2)}${v.toString(16)}` as Hex,
    },
    resource: required.resource,
    accepted: required.accepts[0],
    extensions: required.extensions,
  }
  return encoded(payment)
}

test('E13: a proof that was rebuilt from the chain, with the right body guessed, shows no more than the chain', async () => {
  verifies('D13.3')
  const buyer = await fundedWallet(shop)
  const first = await x402Payer(buyer)(url(), post(BODY))
  const bought = (await first.clone().json()) as Bought
  const stolen = await rebuilt(bought, BODY)
  const answer = await fetch(url(), post(BODY, { 'payment-signature': stolen }))
  assert.equal(answer.status, 200)
  assertPublic(await answer.text(), bought)
  const other = await fetch(url(), post({ ...BODY, quantity: 2 }, { 'payment-signature': stolen }))
  assert.equal(other.status, 409)
  assert.ok(!(await other.text()).includes(bought.orderId))
})

test('E13: the buyer’s own header gets the stored answer, byte for byte; without the claim it is public', async () => {
  const buyer = await fundedWallet(shop)
  const payment = await x402UnderTest.pay(shop, buyer, await fetch(url(), post(BODY)))
  const send = (header: string) => fetch(url(), post(BODY, { 'payment-signature': header }))
  const first = await (await send(payment)).text()
  assert.equal(await (await send(payment)).text(), first)
  const without = edited(payment, (value) => {
    const { accepted } = value as unknown as { accepted: { extra: { claim?: string } } }
    delete accepted.extra.claim
    return value
  })
  assertPublic(await (await send(without)).text(), JSON.parse(first) as Bought)
})

for (const rail of ['x402', 'mpp'] as const)
  test(`E13: a transaction, a nonce and a guessed key show the public view on ${rail}; the order id shows all`, async () => {
    verifies('D2.5', 'D13.1', 'D13.2', 'D13.3')
    const buyer = await fundedWallet(shop)
    const pay = rail === 'x402' ? x402Payer(buyer) : mppPayer(shop, buyer, 'pull')
    const key = `key-of-${rail}-buyer`
    const response = await pay(`${shop.url}/shop/${rail}/buy`, post(BODY, { 'idempotency-key': key }))
    const bought = (await response.json()) as Bought
    for (const reference of [bought.paymentTx, key]) {
      assertPublic(await (await fetch(`${shop.url}/shop/${rail}/purchases/${reference}`)).text(), bought)
      assert.ok(!(await (await fetch(`${shop.url}/payments/${reference}`)).text()).includes(bought.orderId))
    }
    const own = (await (await fetch(bought.statusUrl)).json()) as Bought
    assert.deepEqual(own, bought)
  })

test('E13: a challenge id is the buyer’s own and shows all; a part of its digest on the chain does not', async () => {
  verifies('D2.5', 'D13.2')
  const buyer = await fundedWallet(shop)
  const unpaid = await fetch(`${shop.url}/shop/mpp/buy`, post(BODY))
  const { challengeId } = (await unpaid.clone().json()) as { challengeId: string }
  const authorization = await mppPullUnderTest.pay(shop, buyer, unpaid)
  const bought = (await (await fetch(`${shop.url}/shop/mpp/buy`, post(BODY, { authorization }))).json()) as Bought
  const own = (await (await fetch(`${shop.url}/shop/mpp/purchases/${challengeId}`)).json()) as Bought
  assert.equal(own.orderId, bought.orderId)
})
