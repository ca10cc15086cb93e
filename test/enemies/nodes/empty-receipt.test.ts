import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeFunctionData } from 'viem'
import { testUsdc } from '../../../src/artifacts/TestUsdc.ts'
import type { Hex } from '../../../src/base/hex.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { said } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { challengeOf, credentialOf, mppWallet, payingCall } from '../../checkout/mpp-wallet.ts'
import { sendFrom } from '../../checkout/x402-wallet.ts'
import { transfers } from '../../crash/flows.ts'
import { buy, buyUrl, CURSED_LOT, CURSED_PRICE, LOT } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { addressWord } from '../../support/hex-words.ts'
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

test('E78: a payment that one of two nodes makes up in a transaction that there is does not go back when that node tells the truth', async (t) => {
  const meddler = createMeddler()
  let settled = (): void => {}
  const shop = await startShop({
    withoutWorker: true,
    wrapTransport: (chainId, transport) => [meddler.wrap(chainId, transport), transport],
    waypoint: (name) => {
      if (name === 'order.settled') settled()
    },
  })
  t.after(() => shop.stop())
  const thief = await mppWallet(shop)
  const request = { ...LOT, beneficiary: thief.address }
  const challenge = challengeOf(await fetch(buyUrl(shop, mppPushUnderTest), post(request)))
  // From one pocket into the other.
  const own = payingCall(challenge, { to: thief.address, amount: 90_000_000n })
  const hash = await thief.send(thief.sign([own]))
  const till = addressWord(shop.config.mpp!.recipient)
  settled = meddler.meddle('eth_getTransactionReceipt', async ([asked], ask) => {
    const receipt = (await ask()) as { logs: { topics: Hex[] }[] }
    if (asked !== hash) return receipt
    const logs = receipt.logs.map((log) => ({
      ...log,
      topics: log.topics.map((topic, at) => (at === 2 ? till : topic)),
    }))
    return { ...receipt, logs }
  })
  const credential = credentialOf(challenge, { type: 'hash', hash })
  const { orderId } = await said(
    await fetch(buyUrl(shop, mppPushUnderTest), post(request, { [mppPushUnderTest.header]: credential })),
  )
  for (let look = 0; look < 5; look++) await step(shop, orderId)
  assert.deepEqual(await transfers(shop, mppPushUnderTest, demoAddressOf('treasury'), thief.address), [])
})
