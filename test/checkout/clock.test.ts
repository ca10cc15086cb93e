import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { syncedClock } from '../../src/base/clock.ts'
import { storeTime } from '../../src/store/time.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { movableClock } from './counter.ts'

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

for (const skewMs of [-120_000, 120_000]) {
  test(`M-27: a replica whose machine is ${skewMs / 1000} s off sells as all others do`, async () => {
    const clock = syncedClock(movableClock(skewMs))
    await clock.sync(() => storeTime(shop.store.db))
    const replica = await shop.replica({ clock })
    const buyer = await fundedWallet(shop)
    const init = post({ saleId: 392, beneficiary: buyer.address })
    for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest]) {
      // Priced here and paid there, and the other way round.
      for (const [priced, paid] of [
        [shop.url, replica.url],
        [replica.url, shop.url],
      ]) {
        const path = `/agentic/${rail.rail}/buy`
        const credential = await rail.pay(shop, buyer, await fetch(priced + path, init))
        const headers = { ...init.headers, [rail.header]: credential }
        const response = await fetch(paid + path, { ...init, headers })
        assert.equal(response.status, 200, `${rail.name}: ${await response.text()}`)
      }
    }
  })
}
