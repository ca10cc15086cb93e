import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usd } from '../../../src/base/money.ts'
import type { Config } from '../../../src/config/config.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { ended, said } from '../../checkout/counter.ts'
import { nftsOf, transfers } from '../../crash/flows.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { withChains } from '../support/stepped-shop.ts'

// A mint reverts, the chain changes its mind, and in the new block the very same transaction goes through. If the money had gone back on the
// first word, the buyer would have both.
// So does a payment: if its payer had heard that nothing was taken, they would have paid twice.

const buryAll = (config: Config) => withChains(config, { burial: { blocks: 3n, ms: 0 } })
const confirmAll = (config: Config): Config => {
  const confirmations = [{ fromAmount: usd(0n), blocks: 3 }]
  return { ...config, x402: { ...config.x402!, confirmations }, mpp: { ...config.mpp!, confirmations } }
}
const startPatient = (wait = buryAll) =>
  startShop({
    configure: (config) =>
      wait({ ...config, limits: { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 300 } }),
  })

test('a mint that reverted in a block which was taken back is delivered, and not refunded', async (t) => {
  const shop = await startPatient()
  t.after(() => shop.stop())
  const native = (method: string, ...params: unknown[]) => shop.chains.native.request({ method, params })
  const { sale } = shop.world.contracts
  const buyer = await fundedWallet(shop)
  const refunds = () => transfers(shop, x402UnderTest, demoAddressOf('treasury'), buyer.address)
  await native('dev_fault', { kind: 'revert', to: sale })
  const { response, body } = await buy(shop, x402UnderTest, buyer)
  assert.equal(response.status, 202)
  await until(async () => (await said(await fetch(body.statusUrl))).status !== 'settling')
  assert.deepEqual(await refunds(), [])
  await native('dev_reorg', '0x1')
  assert.equal((await ended(shop, 'x402', body.orderId)).status, 'confirmed')
  assert.deepEqual([await nftsOf(shop.chains, sale, buyer.address), await refunds()], [1, []])
})

test('and one that stays reverted is refunded when it lies deep enough', async (t) => {
  const shop = await startPatient()
  t.after(() => shop.stop())
  const native = (method: string, ...params: unknown[]) => shop.chains.native.request({ method, params })
  const buyer = await fundedWallet(shop)
  await native('dev_fault', { kind: 'revert', to: shop.world.contracts.sale })
  const { body } = await buy(shop, x402UnderTest, buyer)
  for (let block = 0; block < 2; block++) await native('evm_mine')
  assert.equal((await ended(shop, 'x402', body.orderId)).status, 'refunded')
})

const PRICE = 250_000n
const CHAINS = [
  { rail: x402UnderTest, chain: 'native', tokenOf: ({ config }: TestShop) => config.x402!.asset },
  { rail: mppPullUnderTest, chain: 'tempo', tokenOf: ({ config }: TestShop) => config.mpp!.currency.address },
] as const

for (const { rail, chain, tokenOf } of CHAINS) {
  test(`E44: a payment by ${rail.name} that reverted in a block which was taken back is not said to be free, and buys`, async (t) => {
    const shop = await startPatient()
    t.after(() => shop.stop())
    const node = (method: string, ...params: unknown[]) => shop.chains[chain].request({ method, params })
    const { sale } = shop.world.contracts
    const buyer = await fundedWallet(shop)
    const before = await rail.till(shop)
    await node('dev_fault', { kind: 'revert', to: tokenOf(shop) })
    const { response, body } = await buy(shop, rail, buyer)
    assert.equal(response.status, 202)
    await until(async () => (await shop.service.checkout.orders.byId(body.orderId))!.inDoubt)
    await node('dev_reorg', '0x1')
    assert.equal((await ended(shop, rail.rail, body.orderId)).status, 'confirmed')
    assert.equal(await nftsOf(shop.chains, sale, buyer.address), 1)
    assert.equal(await rail.till(shop), before + PRICE)
  })

  for (const wait of [buryAll, confirmAll])
    test(`and one by ${rail.name} that stays reverted is refused when it lies deep enough: ${wait.name}`, async (t) => {
      const shop = await startPatient(wait)
      t.after(() => shop.stop())
      const node = (method: string, ...params: unknown[]) => shop.chains[chain].request({ method, params })
      const buyer = await fundedWallet(shop)
      const before = await rail.till(shop)
      await node('dev_fault', { kind: 'revert', to: tokenOf(shop) })
      const { response, body } = await buy(shop, rail, buyer)
      assert.equal(response.status, 202)
      for (let block = 0; block < 2; block++) await node('evm_mine')
      assert.equal((await ended(shop, rail.rail, body.orderId)).status, 'expired')
      assert.equal(await rail.till(shop), before)
    })
}
