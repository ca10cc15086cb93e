import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { FOUND_MAX } from '../../../src/store/orders/orders.ts'
import { said } from '../../checkout/counter.ts'
import { encoded, paymentFor, preempt, requiredOf } from '../../checkout/x402-wallet.ts'
import { AT_ONCE, asOperator, LOT_PRICE, reconcileRail, TOMORROW } from '../../operations/desk.ts'
import { x402Stranger } from '../../operations/strangers.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { verifies } from '../../support/verifies.ts'

// Nonces and idempotency keys are whatever a payer writes, also the name of something that is somebody else's.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

type Hash = `0x${string}`
type Bought = { readonly orderId: string; readonly paymentTx: Hash; readonly quantity: number; readonly nonce: Hash }
type Names = { readonly key?: string; readonly nonce?: Hash }

/** Somebody new buys, and calls it as they like. */
async function buy(quantity: number, { key, nonce }: Names = {}): Promise<Bought> {
  const url = `${shop.url}/shop/x402/buy`
  const body = { itemId: 'keys:5', quantity, nickname: 'Demo' }
  const required = requiredOf(await fetch(url, post(body)))
  const payment = await paymentFor(await fundedWallet(shop), required, { authorization: nonce ? { nonce } : {} })
  const headers = { [x402UnderTest.header]: encoded(payment), ...(key ? { 'idempotency-key': key } : {}) }
  const response = await fetch(url, post(body, headers))
  assert.equal(response.status, 200, await response.clone().text())
  return { ...((await response.json()) as Bought), nonce: payment.payload.authorization.nonce }
}

const status = (name: string) => fetch(`${shop.url}/shop/x402/purchases/${name}`)
const recovery = (name: string) => fetch(`${shop.url}/payments/${name}`)

async function assertTold(name: string, { paymentTx, quantity }: Bought): Promise<void> {
  const shown = (await (await status(name)).json()) as Bought
  assert.deepEqual([shown.paymentTx, shown.quantity], [paymentTx, quantity])
  const { payment } = (await (await recovery(name)).json()) as { payment: { transaction: string } }
  assert.equal(payment.transaction, paymentTx)
}

async function assertAmbiguous(name: string): Promise<void> {
  for (const answer of [await status(name), await recovery(name)]) {
    const { code, detail, payment } = await said(answer)
    assert.deepEqual([answer.status, code, payment.taken], [409, 'payment_conflict', 'unknown'])
    assert.match(detail!, /Several payments/)
  }
}

describe('E37: a purchase that is called by the name of another', () => {
  let victim: Bought
  beforeEach(async () => {
    victim = await buy(1)
  })

  test('does not answer for its transaction, be it by key or by nonce', async () => {
    await buy(2, { key: victim.paymentTx })
    await buy(3, { nonce: victim.paymentTx })
    await assertTold(victim.paymentTx, victim)
  })

  test('does not answer for its order id or its nonce by key', async () => {
    await buy(2, { key: victim.orderId })
    await buy(3, { key: victim.nonce })
    await assertTold(victim.orderId, victim)
    await assertTold(victim.nonce, victim)
  })

  test('by the same nonce does not take it away: it stays the name of the first, however many come later', async () => {
    verifies('D2.5')
    for (let twins = 0; twins < FOUND_MAX + 1; twins++) {
      const twin = await buy(2, { nonce: victim.nonce })
      await assertTold(victim.nonce, victim)
      await assertTold(twin.paymentTx, twin)
    }
  })

  test('does not take its nonce away by money that buys nothing', async () => {
    const stranger = await fundedWallet(shop)
    const required = requiredOf(
      await fetch(`${shop.url}/shop/x402/buy`, post({ itemId: 'keys:5', quantity: 1, nickname: 'Demo' })),
    )
    await preempt(shop, await paymentFor(stranger, required, { authorization: { nonce: victim.nonce } }))
    await reconcileRail(shop, x402UnderTest, AT_ONCE)
    await assertTold(victim.nonce, victim)
  })

  test('by the same key is told apart by nothing, and neither is shown', async () => {
    const key = `a-common-key-${victim.nonce}`
    const first = await buy(3, { key })
    await assertTold(key, first)
    await buy(4, { key })
    await assertAmbiguous(key)
  })

  test('is not what an operator’s deed is about', async () => {
    const other = await buy(2, { key: victim.orderId })
    const deed = (name: string, what: string, body: object) =>
      asOperator(shop, `/operator/orders/${name}/${what}`, post(body))
    const deeds = { retry: {}, decide: { outcome: 'delivered' }, notes: { text: 'seen' } }
    for (const [what, body] of Object.entries(deeds)) {
      assert.equal((await said(await deed(victim.orderId, what, body))).orderId, victim.orderId, what)
      assert.equal((await deed(other.paymentTx, what, body)).status, 404, `${what} by another name than the id`)
    }
    const shown = (await (await asOperator(shop, `/operator/orders/${victim.orderId}`)).json()) as { order: Bought }
    assert.equal(shown.order.orderId, victim.orderId)
  })
})

test('E37: a purchase that is called by the transaction of money without one does not answer for that', async () => {
  const stranger = await x402Stranger(shop)
  const transaction = await stranger.give(LOT_PRICE)
  await reconcileRail(shop, stranger.rail, TOMORROW)
  for (const names of [{}, { key: transaction }, { nonce: transaction }]) {
    await buy(2, names)
    for (const answer of [await status(transaction), await recovery(transaction)])
      assert.match((await said(answer)).detail!, /reached us without a purchase/)
  }
})
