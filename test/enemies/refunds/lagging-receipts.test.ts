import assert from 'node:assert/strict'
import { test } from 'node:test'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { movableClock, said } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { transfers } from '../../crash/flows.ts'
import { buyUrl, CURSED_LOT, CURSED_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { BURIAL, step, withChains } from '../support/stepped-shop.ts'

// Behind one address stand two nodes: nonces and blocks are fresh, receipts come from one that is 45 seconds behind. A refund that has
// landed looks like one that never will, for as long as that; paid again, it is money thrown away.

const LAG_MS = 45_000
const BLOCK_MS = 500

for (const rail of [mppPullUnderTest, x402UnderTest]) {
  test(`E15: a refund by ${rail.name} is paid once, however late its receipt comes`, async (t) => {
    const clock = movableClock()
    const meddler = createMeddler()
    const shop = await startShop({
      clock,
      wrapTransport: meddler.wrap,
      withoutWorker: true,
      configure: (config) => {
        const limits = { ...config.limits, receiptWaitMs: 30, waitMsMax: 200 }
        return withChains({ ...config, limits }, { burial: BURIAL })
      },
    })
    t.after(() => shop.stop())
    const chain = chainOf(shop, rail)
    meddler.meddle('eth_getTransactionReceipt', async (_params, ask, chainId) => {
      const receipt = (await ask()) as { blockNumber: string } | null
      if (receipt === null || chainId !== chain.chainId) return receipt
      const block = (await chain.request({
        method: 'eth_getBlockByNumber',
        params: [receipt.blockNumber, false],
      })) as { timestamp: string }
      return clock.now() - Number(block.timestamp) * 1000 < LAG_MS ? null : receipt
    })
    const buyer = await fundedWallet(shop)
    const { request, credential } = await payFor(shop, rail, buyer, CURSED_LOT)
    const response = await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
    const { orderId } = await said(response)
    const refunds = () => transfers(shop, rail, demoAddressOf('treasury'), buyer.address)

    // Payment, mint and refund lie behind each other by as long as receipts are late; afterwards there is nothing left to do.
    let order = await step(shop, orderId)
    for (let round = 0; round < 300 && order.status !== 'refunded'; round++) {
      for (let block = 0; block < 4; block++) {
        clock.move(BLOCK_MS)
        for (const one of [shop.chains.native, shop.chains.tempo]) await one.request({ method: 'evm_mine' })
      }
      order = await step(shop, orderId)
    }
    assert.deepEqual(await refunds(), [CURSED_PRICE])
    assert.equal(order.status, 'refunded')
  })
}

function chainOf({ chains }: Awaited<ReturnType<typeof startShop>>, { rail }: RailUnderTest) {
  return rail === 'mpp' ? chains.tempo : chains.native
}
