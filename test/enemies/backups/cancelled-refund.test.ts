import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Hex } from '../../../src/base/hex.ts'
import { refundOrder } from '../../../src/checkout/refund.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { transfers } from '../../crash/flows.ts'
import { buy, LOT_PRICE, reconcileRail } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { edited, mppPullUnderTest as rail } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { drop, hashOf } from '../support/stepped-shop.ts'

// E100 by another way: the nonce of a refund went to what cancelled it, which is ours as well.

function signedIn(credential: string): Hex {
  let raw: Hex = '0x'
  edited(credential, ({ payload }) => {
    raw = (payload as unknown as { signature: Hex }).signature
  })
  return raw
}

test('E113: a treasury of which one refund was cancelled, because the chain had dropped the payment, is not taken for one that was put back', async (t) => {
  const meddler = createMeddler()
  const shop = await startShop({
    withoutWorker: true,
    wrapTransport: meddler.wrap,
    configure: (config) => ({ ...config, limits: { ...config.limits, receiptWaitMs: 500 } }),
  })
  t.after(() => shop.stop())
  const { tempo } = shop.chains
  const refund = (orderId: string) => refundOrder(shop.service.checkout, orderId, { reason: 'a test', by: 'ada' })
  /** The treasury's own transfers, looked for on the chain. */
  const searches = () =>
    meddler
      .seen('eth_getLogs')
      .filter(({ params: [filter] }) => Array.isArray((filter as { readonly topics: readonly unknown[] }).topics[1]))
      .length
  const [buyer, next] = [await fundedWallet(shop), await fundedWallet(shop)]
  const { body, credential } = await buy(shop, rail, buyer)
  await refund(body.orderId)
  await reconcileRail(shop, rail)
  await drop(tempo, body.paymentTx, await hashOf(shop, body.orderId, 'refund'))
  for (let look = 0; look < 2; look++) await reconcileRail(shop, rail)
  await tempo.request({ method: 'eth_sendRawTransaction', params: [signedIn(credential)] })
  for (let look = 0; look < 3; look++) await reconcileRail(shop, rail)
  assert.deepEqual(await transfers(shop, rail, demoAddressOf('treasury'), buyer.address), [LOT_PRICE])
  assert.ok(await hashOf(shop, body.orderId, 'refund.2'))
  const before = searches()
  assert.equal((await refund((await buy(shop, rail, next)).body.orderId)).status, 'refunded')
  assert.equal(searches() - before, 0)
})
