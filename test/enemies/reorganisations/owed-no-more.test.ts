import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hash } from '../../../src/base/address.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { sendFrom } from '../../checkout/x402-wallet.ts'
import { transfers } from '../../crash/flows.ts'
import { buy, CURSED_LOT, CURSED_PRICE } from '../../operations/desk.ts'
import { transfer } from '../../operations/strangers.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest as rail } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { drop, letGo, step } from '../support/stepped-shop.ts'

// E78, and later: that a refund is owed was found out, and the key that sends it cannot pay for gas. Before it can, the chain takes the payment back.

const ETHER = '0xde0b6b3a7640000'
async function startWithLoan(t: TestContext) {
  let created = async (): Promise<void> => {}
  const shop = await startShop({
    withoutWorker: true,
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 500 } }),
    waypoint: async (name) => {
      if (name === 'refund.created') await created()
    },
  })
  t.after(() => shop.stop())
  const { native } = shop.chains
  const gasKey = demoAddressOf('settler')
  const setGas = async (wei: string) => void (await native.request({ method: 'dev_setBalance', params: [gasKey, wei] }))
  created = () => setGas('0x0')
  const [rich, thief] = [await fundedWallet(shop), await fundedWallet(shop, 0n)]
  const { asset, payTo } = shop.config.x402!
  const loan = await sendFrom(native, rich, asset, transfer(thief.address, CURSED_PRICE))
  return {
    shop,
    thief,
    empty: () => setGas('0x0'),
    fill: () => setGas(ETHER),
    pay: () => sendFrom(native, thief, asset, transfer(payTo, CURSED_PRICE)),
    /** Without the loan the payment is mined again, and takes nothing. */
    async takeBack() {
      await drop(native, loan as Hash)
      await setGas(ETHER)
    },
    sentBack: () => transfers(shop, rail, demoAddressOf('treasury'), thief.address),
  }
}

test('M-19: a refund that waited for the treasury does not go out when the chain has taken the payment back meanwhile', async (t) => {
  const { shop, thief, takeBack, sentBack } = await startWithLoan(t)
  const till = await rail.till(shop)
  const { body } = await buy(shop, rail, thief, CURSED_LOT)
  await letGo(shop, body.orderId)
  await until(async () => (await step(shop, body.orderId)).status === 'refunding')
  await takeBack()
  for (let look = 0; look < 3; look++) await step(shop, body.orderId)
  const paid = (await rail.till(shop)) - till
  assert.deepEqual({ paid, sentBack: await sentBack() }, { paid: 0n, sentBack: [] })
})
