import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { orderCount, said } from '../../checkout/counter.ts'
import { type Answer, createMeddler } from '../../checkout/meddler.ts'
import { linkedBuyer } from '../../shop/support.ts'
import { post } from '../../support/buyers.ts'
import { mppPushUnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'

// Behind one address stand two nodes: one shows the receipt of a payment, the other not yet by which key it was signed. An access key may pay
// for its account, and not act for it.

const meddler = createMeddler()
let shop: TestShop
before(async () => {
  const configure: NonNullable<Parameters<typeof startShop>[0]>['configure'] = (config) => ({
    ...config,
    limits: { ...config.limits, waitMsMax: 100 },
  })
  shop = await startShop({ wrapTransport: meddler.wrap, configure })
})
after(() => shop.stop())

const url = () => `${shop.url}/shop/mpp/player-lookup`

/** What a node may say of a transaction without saying who signed it. */
const silences: Readonly<Record<string, Answer>> = {
  'is not shown': () => null,
  'is shown without its signature': async (_params, ask) => ({ ...((await ask()) as object), signature: undefined }),
  'is shown as another one': async (_params, ask) => ({ ...((await ask()) as object), hash: `0x${'7'.repeat(64)}` }),
}

for (const [what, silence] of Object.entries(silences))
  test(`E1: a push whose transaction ${what} acts for nobody yet, and is judged when its key is known`, async () => {
    const { account } = await linkedBuyer(shop)
    const asAccessKey: Answer = async (_params, ask) => ({
      ...((await ask()) as object),
      signature: { type: 'keychain', userAddress: account.address },
    })
    for (const key of ['own', 'access'] as const) {
      const authorization = await mppPushUnderTest.pay(shop, account, await fetch(url(), post({})))
      const present = () => fetch(url(), post({}, { authorization }))
      const orders = await orderCount(shop)
      const show = meddler.meddle('eth_getTransactionByHash', silence)
      const unsure = await present()
      show()
      const { code, payment } = await said(unsure)
      assert.deepEqual([unsure.status, code, payment.taken], [202, 'payment_pending', 'unknown'])
      assert.equal(await orderCount(shop), orders)
      const stop = key === 'own' ? () => {} : meddler.meddle('eth_getTransactionByHash', asAccessKey)
      await until(async () => (await present()).status !== 202)
      const sure = await present()
      stop()
      const expected = key === 'own' ? [200, undefined] : [409, 'payment_returned']
      assert.deepEqual([sure.status, (await said(sure)).code], expected)
    }
  })

test('E1: a node that is behind for a moment costs the payer no second call', async () => {
  const { account } = await linkedBuyer(shop)
  const authorization = await mppPushUnderTest.pay(shop, account, await fetch(url(), post({})))
  const orders = await orderCount(shop)
  let asked = 0
  const stop = meddler.meddle('eth_getTransactionByHash', (_params, ask) => (asked++ === 0 ? null : ask()))
  await fetch(url(), post({}, { authorization }))
  stop()
  assert.equal(await orderCount(shop), orders + 1)
  assert.ok(asked > 1)
})
