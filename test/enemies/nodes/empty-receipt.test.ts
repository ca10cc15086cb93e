import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeFunctionData } from 'viem'
import { testUsdc } from '../../../src/artifacts/TestUsdc.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { sendFrom } from '../../checkout/x402-wallet.ts'
import { transfers } from '../../crash/flows.ts'
import { buy, CURSED_LOT, CURSED_PRICE } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { drop, step } from '../support/stepped-shop.ts'

// Both nodes show the transaction that is said to have paid: what they do not show is that it paid.

for (const nodes of [1, 2])
  test(`E78: a payment that reverts after a reorganisation is not sent back, by the word of ${nodes} honest nodes`, async (t) => {
    let failed = async (): Promise<void> => {}
    const shop = await startShop({
      withoutWorker: true,
      wrapTransport: (_chainId, transport) => Array.from({ length: nodes }, () => transport),
      waypoint: async (name) => {
        if (name === 'order.failed') await failed()
      },
    })
    t.after(() => shop.stop())
    const { native } = shop.chains
    const [rich, thief] = [await fundedWallet(shop), await fundedWallet(shop, 0n)]
    const lent = encodeFunctionData({
      abi: testUsdc.abi,
      functionName: 'transfer',
      args: [thief.address, CURSED_PRICE],
    })
    const loan = await sendFrom(native, rich, shop.config.x402!.asset, lent)
    // Without the loan the payment is mined again, and takes nothing.
    failed = () => drop(native, loan)
    const till = await x402UnderTest.till(shop)
    const { body } = await buy(shop, x402UnderTest, thief, CURSED_LOT)
    for (let look = 0; look < 5; look++) await step(shop, body.orderId)
    const paid = (await x402UnderTest.till(shop)) - till
    const sentBack = await transfers(shop, x402UnderTest, demoAddressOf('treasury'), thief.address)
    assert.deepEqual({ paid, sentBack }, { paid: 0n, sentBack: [] })
  })
