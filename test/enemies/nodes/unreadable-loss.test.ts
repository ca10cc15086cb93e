import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMeddler, Refused } from '../../checkout/meddler.ts'
import { nftsOf } from '../../crash/flows.ts'
import { buy, letRunOut, reconcileRail } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { drop, hashOf } from '../support/stepped-shop.ts'

// What counts as lost is looked for at every look, for ever: a node that has nothing but an error to say about it must not end the look.

test('E81: a payment that is missing, and that a node answers for with an error, does not keep the rest of the books from being kept', async (t) => {
  const rail = mppPullUnderTest
  const meddler = createMeddler()
  const shop = await startShop({ withoutWorker: true, wrapTransport: meddler.wrap })
  t.after(() => shop.stop())
  await reconcileRail(shop, rail)
  const lost = await buy(shop, rail, await fundedWallet(shop))
  await reconcileRail(shop, rail)
  await drop(shop.chains.tempo, lost.body.paymentTx)
  await reconcileRail(shop, rail)
  await letRunOut(shop, lost.body.orderId)
  await reconcileRail(shop, rail)
  const buyer = await fundedWallet(shop)
  const { body } = await buy(shop, rail, buyer)
  await reconcileRail(shop, rail)
  await drop(shop.chains.native, await hashOf(shop, body.orderId, 'mint'))
  meddler.meddle('eth_getTransactionReceipt', ([hash], ask) => {
    if (hash === lost.body.paymentTx)
      throw new Refused({ code: -32000, message: 'transaction indexing is in progress' })
    return ask()
  })
  for (let look = 0; look < 2; look++) await reconcileRail(shop, rail).catch(() => {})
  assert.equal(await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address), 1)
})
