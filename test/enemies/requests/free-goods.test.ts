import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orderCount, setLot, verdict } from '../../checkout/counter.ts'
import { encoded, paymentFor, requiredOf } from '../../checkout/x402-wallet.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { startShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'

// A transfer of nothing is no payment, so what costs nothing is not for sale.

const FREE = 78

test('M-08: a lot without a price is not sold, and neither is one that had none a moment ago', async () => {
  const shop = await startShop()
  try {
    await setLot(shop, FREE, { price: '0.00', supply: 30n })
    const wallet = await fundedWallet(shop)
    const body = { saleId: FREE, beneficiary: wallet.address }
    const url = (rail: string) => `${shop.url}/agentic/${rail}/buy`
    const quote = await fetch(`${shop.url}/agentic/x402/quote`, post(body))
    assert.equal(((await quote.json()) as { executable: boolean }).executable, false)
    for (const rail of ['x402', 'mpp'])
      assert.deepEqual(await verdict(await fetch(url(rail), post(body))), [409, 'item_unavailable'])
    await setLot(shop, FREE, { price: '0.25', supply: 30n })
    // Listings are some seconds old.
    await until(async () => (await fetch(url('x402'), post(body))).status === 402)
    const required = requiredOf(await fetch(url('x402'), post(body)))
    const nothing = { ...required, accepts: [{ ...required.accepts[0], amount: '0' }] as const }
    const payment = encoded(await paymentFor(wallet, nothing))
    const answer = await fetch(url('x402'), post(body, { 'payment-signature': payment }))
    assert.deepEqual(await verdict(answer), [402, 'payment_amount_mismatch'])
    assert.equal(await orderCount(shop), 0)
  } finally {
    await shop.stop()
  }
})
