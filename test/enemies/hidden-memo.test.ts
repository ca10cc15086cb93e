import assert from 'node:assert/strict'
import { test } from 'node:test'
import { said } from '../checkout/counter.ts'
import { challengeOf, credentialOf, mppWallet, payingCall } from '../checkout/mpp-wallet.ts'
import { buyUrl, LOT, LOT_PRICE } from '../operations/desk.ts'
import { post } from '../support/buyers.ts'
import { mppPullUnderTest } from '../support/credentials.ts'
import { startBetweenNodes, step } from './by-hand.ts'

// E68 by the other rail: a payment may land in another transaction than the one that was shown, and only its memo tells.

const TEMPO = 42431

for (const [isSilenced, and] of [
  [false, ''],
  [true, ', and the other one does not say'],
] as const)
  test(`E83: a payment that landed in a transaction of its payer’s own is not said to have run out because the first of two nodes hides it${and}`, async (t) => {
    const { shop, clock, meddler, other, atOpening } = await startBetweenNodes(t)
    const rail = mppPullUnderTest
    const before = await rail.till(shop)
    const wallet = await mppWallet(shop)
    const request = { ...LOT, beneficiary: wallet.address }
    const challenge = challengeOf(await fetch(buyUrl(shop, rail), post(request)))
    const nonces = { nonceKey: 0n, nonce: 0n }
    const signature = wallet.sign([payingCall(challenge)], nonces)
    atOpening(async () => {
      await wallet.send(wallet.sign([payingCall(challenge)], { ...nonces, gas: 400_000n }))
      meddler.meddle('eth_getLogs', (_params, ask, chain) => (chain === TEMPO ? [] : ask()))
      meddler.meddle('eth_getTransactionReceipt', (_params, ask, chain) => (chain === TEMPO ? null : ask()))
    })
    const credential = credentialOf(challenge, { type: 'transaction', signature })
    const answer = await fetch(buyUrl(shop, rail), post(request, { authorization: credential }))
    const { orderId } = await said(answer)
    clock.move(1_000_000)
    for (let mined = 0; mined < 3; mined++) await shop.chains.tempo.request({ method: 'evm_mine', params: [] })
    if (isSilenced) other.meddle('eth_getLogs', () => Promise.reject(new Error('429')))
    const status = orderId ? (await step(shop, orderId)).status : answer.status
    const taken = (await rail.till(shop)) - before
    assert.deepEqual({ status, taken }, { status: 'settling', taken: LOT_PRICE })
  })
