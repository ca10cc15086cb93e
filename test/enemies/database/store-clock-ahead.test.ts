import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movableClock, said } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { encoded, paymentFor, preempt, requiredOf } from '../../checkout/x402-wallet.ts'
import { buyUrl, LOT, LOT_PRICE } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest as rail } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop } from '../../support/shop.ts'
import { step, withChains } from '../support/stepped-shop.ts'

// Where a used payment is searched from when its time is over is told by when its order was opened, by the clock of the store. That one may be
// minutes ahead of the chain's.

test('M-12: a payment that a stranger carried is not said to be spent elsewhere because the clock of the store is ahead', async (t) => {
  const clock = movableClock()
  const meddler = createMeddler()
  let begun = async (): Promise<void> => {}
  const shop = await startShop({
    clock,
    withoutWorker: true,
    wrapTransport: meddler.wrap,
    waypoint: async (name) => {
      if (name === 'settle.begun') await begun()
    },
    configure: (config) => {
      const limits = { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 300 }
      return withChains({ ...config, limits }, { burial: { blocks: 2n, ms: 0 } })
    },
  })
  t.after(() => shop.stop())
  const before = await rail.till(shop)
  const buyer = await fundedWallet(shop)
  const request = { ...LOT, beneficiary: buyer.address }
  const payment = await paymentFor(buyer, requiredOf(await fetch(buyUrl(shop, rail), post(request))))
  begun = async () => void (await preempt(shop, payment))
  const answer = meddler.meddle('eth_getLogs', () => {
    throw new Error('nobody answers')
  })
  const send = () => fetch(buyUrl(shop, rail), post(request, { [rail.header]: encoded(payment) }))
  const { orderId } = await said(await send())
  begun = async () => {}
  await shop.store.db.query(`update orders set created_at = created_at + interval '2 minutes' where id = $1`, [orderId])
  clock.move(1_000_000)
  for (let mined = 0; mined < 3; mined++) await shop.chains.native.request({ method: 'evm_mine', params: [] })
  answer()
  const { status, failure } = await step(shop, orderId)
  const taken = (await rail.till(shop)) - before
  assert.deepEqual({ taken, status, failure }, { taken: LOT_PRICE, status: 'settled', failure: null })
})
