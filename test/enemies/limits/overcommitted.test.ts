import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Hex, maxUint256 } from 'viem'
import { privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import type { Secret } from '../../../src/base/secret.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { ended, orderCount, said, setLot, verdict } from '../../checkout/counter.ts'
import { challengeOf, credentialOf, mppWallet, payingCall } from '../../checkout/mpp-wallet.ts'
import { requiredOf, sendFrom } from '../../checkout/x402-wallet.ts'
import { signTempo } from '../../devchain/tempo-signing.ts'
import { transfer } from '../../operations/strangers.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { erc20Balance, startShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'

// What a shop could send back is a bound on what it sells. Authorizations that will never land must not use it up.

const RARE = 77

test('F-04: payments whose nonce their payer spends elsewhere do not close the shop for others', async () => {
  let waypoint: Waypoint = noWaypoint
  const shop = await startShop({
    waypoint: (name) => waypoint(name),
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, waitMsMax: 400, receiptWaitMs: 100, leaseSeconds: 2, holdMsMax: 0 },
    }),
  })
  try {
    await setLot(shop, RARE, { price: '250.00', supply: 30n })
    const { currency, treasuryKey } = shop.config.mpp!
    const [enemy, honest] = [await mppWallet(shop), await mppWallet(shop)]
    const key = (treasuryKey as Secret).reveal() as Hex
    const float = await erc20Balance(shop.chains.tempo, currency.address, privateKeyToAddress(key))
    // Enough is left to send one of them back, and not two.
    const spend = [{ to: currency.address, data: transfer(honest.address, float - 300_000_000n) }]
    const lane = { nonceKey: maxUint256, validBefore: Math.floor(Date.now() / 1000) + 25 }
    await enemy.send(signTempo(key, { calls: spend, ...lane }))
    const url = `${shop.url}/agentic/mpp/buy`
    const body = { saleId: RARE, beneficiary: enemy.address }
    const challenge = challengeOf(await fetch(url, post(body)))
    const signature = enemy.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n })
    waypoint = async (name) => {
      if (name !== 'order.opened') return
      waypoint = noWaypoint
      const away = transfer(honest.address, 1n)
      await enemy.send(enemy.sign([{ to: currency.address, data: away }], { nonceKey: 0n, nonce: 0n }))
    }
    const answer = await fetch(
      url,
      post(body, { authorization: credentialOf(challenge, { type: 'transaction', signature }) }),
    )
    assert.deepEqual(await verdict(answer), [202, 'payment_pending'])
    await until(async () => (await shop.store.db.query('select from orders where plan is null')).rows.length === 1)
    const own = { saleId: RARE, beneficiary: honest.address }
    const asked = challengeOf(await fetch(url, post(own)))
    const paid = { type: 'transaction', signature: honest.sign([payingCall(asked)]) }
    const bought = await fetch(url, post(own, { authorization: credentialOf(asked, paid) }))
    assert.equal((await ended(shop, 'mpp', (await said(bought)).orderId)).status, 'confirmed')
  } finally {
    await shop.stop()
  }
})

test('E6: what could be sent back is counted on once, however many ask for it at the same moment', async () => {
  const BUYERS = 8
  const meeting = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  let asked = 0
  const shop = await startShop({
    poolSize: BUYERS + 4,
    waypoint: async (name) => {
      if (name === 'order.opening' && ++asked === BUYERS) meeting.resolve()
      if (name === 'order.opening') await meeting.promise
      if (name === 'settle.begun') await end.promise
    },
  })
  try {
    const { asset, treasuryKey } = shop.config.x402!
    const treasury = privateKeyToAccount((treasuryKey as Secret).reveal() as Hex)
    const buyers = await Promise.all(Array.from({ length: BUYERS }, () => fundedWallet(shop)))
    const balance = await erc20Balance(shop.chains.native, asset, treasury.address)
    const url = `${shop.url}/shop/x402/buy`
    const body = { itemId: 'keys:5', nickname: 'Demo' }
    const price = BigInt(requiredOf(await fetch(url, post(body))).accepts[0].amount)
    await sendFrom(shop.chains.native, treasury, asset, transfer(buyers[0]!.address, balance - 2n * price))
    const answers = buyers.map(async (buyer) => {
      const payment = await x402UnderTest.pay(shop, buyer, await fetch(url, post(body)))
      return (await fetch(url, post(body, { 'payment-signature': payment }))).status
    })
    let refused = 0
    for (const answer of answers) void answer.then((status) => (refused += status === 503 ? 1 : 0))
    await until(async () => refused >= BUYERS - 2 || (await orderCount(shop)) > 2)
    end.resolve()
    assert.deepEqual((await Promise.all(answers)).sort(), [200, 200, 503, 503, 503, 503, 503, 503])
  } finally {
    end.resolve()
    await shop.stop()
  }
})
