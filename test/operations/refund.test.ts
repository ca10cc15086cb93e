import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { refundOrder } from '../../src/checkout/refund.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { asOperator, buy, buyUrl, CURSED_LOT, CURSED_PRICE, eventsOf, LOT_PRICE, status } from './desk.ts'

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest]) {
  describe(`refunds on ${rail.name}`, () => {
    let buyer: PrivateKeyAccount
    before(async () => {
      buyer = await fundedWallet(shop)
    })

    const refund = (orderId: string, reason = 'the lot was mispriced') =>
      asOperator(shop, `/operator/orders/${orderId}/refund`, post({ reason, by: 'ada' }))

    test('an operator sends the whole price of a delivered order back to its payer, once', async () => {
      verifies('D17.2')
      const { body } = await buy(shop, rail, buyer)
      const before = await rail.balance(shop, buyer.address)
      const response = await refund(body.orderId)
      assert.equal(response.status, 200)
      assert.equal((await rail.balance(shop, buyer.address)) - before, LOT_PRICE, 'read from the chain')
      const shown = await status(body.statusUrl)
      assert.equal(shown.status, 'refunded')
      assert.equal(shown.refund!.reason, 'the lot was mispriced')
      assert.equal(shown.refund!.to.toLowerCase(), buyer.address.toLowerCase())

      const again = await refund(body.orderId)
      assert.equal(again.status, 409)
      const problem = (await again.json()) as { code: string; detail: string }
      assert.equal(problem.code, 'refund_refused')
      assert.match(problem.detail, /refunded already/)
      assert.equal((await rail.balance(shop, buyer.address)) - before, LOT_PRICE)
      assert.deepEqual((await eventsOf(shop, body.orderId)).map(({ type }) => type).slice(-3), [
        'order.confirmed',
        'refund.created',
        'refund.completed',
      ])
    })

    test('E15: ten operators at once refund it once', async () => {
      const { body } = await buy(shop, rail, buyer)
      const before = await rail.balance(shop, buyer.address)
      const replica = await shop.replica()
      const checkouts = [shop.service.checkout, replica.checkout]
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, n) =>
          refundOrder(checkouts[n % 2]!, body.orderId, { reason: 'twice', by: `op${n}` }),
        ),
      )
      const done = outcomes.filter(({ status }) => status === 'fulfilled')
      assert.equal(done.length, 1)
      await until(async () => (await status(body.statusUrl)).status === 'refunded')
      assert.equal((await rail.balance(shop, buyer.address)) - before, LOT_PRICE)
    })

    test('what was paid for and can never be delivered goes back by itself, in full', async () => {
      verifies('D6.10')
      const till = await rail.till(shop)
      const { body, credential } = await buy(shop, rail, buyer, CURSED_LOT)
      const request = { ...CURSED_LOT, beneficiary: buyer.address }
      const show = () => fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
      await until(
        async () => ((await (await show()).json()) as { refund: { status: string } }).refund?.status === 'refunded',
      )
      const order = (await shop.service.checkout.orders.byId(body.orderId))!
      assert.equal(order.refund!.amount, CURSED_PRICE)
      assert.equal(order.refund!.by, 'automatic')
      assert.equal((await rail.till(shop)) - till, CURSED_PRICE, 'the till keeps what came in')
      const refused = await refund(body.orderId)
      assert.equal(refused.status, 409)
      assert.equal(await transferredTo(shop, order.refund!.transaction!), CURSED_PRICE)
    })

    /** What a transaction moved to the buyer, by the chain's own word. */
    async function transferredTo({ chains, config }: TestShop, transaction: string): Promise<bigint> {
      const chain = rail.rail === 'x402' ? chains.native : chains.tempo
      const asset = rail.rail === 'x402' ? config.x402!.asset : config.mpp!.currency.address
      const receipt = (await chain.request({ method: 'eth_getTransactionReceipt', params: [transaction] })) as {
        logs: { address: string; topics: string[]; data: string }[]
      }
      const [log] = receipt.logs.filter(
        ({ address, topics }) =>
          address.toLowerCase() === asset.toLowerCase() && topics[2]?.endsWith(buyer.address.slice(2).toLowerCase()),
      )
      return BigInt(log!.data)
    }
  })
}

describe('refunds that are refused', () => {
  const refund = (orderId: string, body: unknown = { reason: 'because' }) =>
    asOperator(shop, `/operator/orders/${orderId}/refund`, post(body))

  test('an unknown order, a missing reason, and an order whose payment never landed', async () => {
    assert.equal((await refund('ord_nothing')).status, 404)
    const buyer = await fundedWallet(shop)
    const { body } = await buy(shop, x402UnderTest, buyer)
    assert.equal((await refund(body.orderId, {})).status, 400)
    await shop.store.db.query(`update orders set status = 'expired' where id = $1`, [body.orderId])
    const response = await refund(body.orderId)
    assert.equal(response.status, 409)
    assert.match(((await response.json()) as { detail: string }).detail, /nothing was taken/)
  })

  for (const moving of ['settling', 'settled', 'submitted', 'refunding'] as const)
    test(`an order that is ${moving} is left to itself: nobody knows yet what its end will be`, async () => {
      verifies('D17.2')
      const buyer = await fundedWallet(shop)
      const { body } = await buy(shop, x402UnderTest, buyer)
      await shop.store.db.query('update orders set status = $2 where id = $1', [body.orderId, moving])
      assert.equal((await refund(body.orderId)).status, 409)
    })

  test('an operator who died right after taking the order up does not stand in the way of the next', async () => {
    const buyer = await fundedWallet(shop)
    const { body } = await buy(shop, x402UnderTest, buyer)
    const { checkout } = shop.service
    assert.ok(await checkout.jobs.begin(body.orderId, 15))
    await assert.rejects(refundOrder(checkout, body.orderId, { reason: 'r', by: 'b' }), { code: 'refund_refused' })
    await shop.store.db.query(`update jobs set run_at = now() where key = $1`, [body.orderId])
    await until(async () => {
      const { rows } = await shop.store.db.query('select from jobs where key = $1', [body.orderId])
      return rows.length === 0
    })
    assert.equal((await refundOrder(checkout, body.orderId, { reason: 'r', by: 'b' })).status, 'refunded')
  })
})
