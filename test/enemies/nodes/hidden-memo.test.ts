import assert from 'node:assert/strict'
import { test } from 'node:test'
import { said } from '../../checkout/counter.ts'
import { payingCall } from '../../checkout/mpp-wallet.ts'
import { LOT_PRICE } from '../../operations/desk.ts'
import { startPull } from '../support/pull-payment.ts'

// E68 by the other rail: a payment may land in another transaction than the one that was shown, and only its memo tells.

const TEMPO = 42431

for (const [isSilenced, and] of [
  [false, ''],
  [true, ', and the other one does not say'],
] as const)
  test(`E83: a payment that landed in a transaction of its payer’s own is not said to have run out because the first of two nodes hides it${and}`, async (t) => {
    const { meddler, other, atOpening, wallet, challenge, send, stepLater, taken } = await startPull(t)
    const nonces = { nonceKey: 0n, nonce: 0n }
    const signature = wallet.sign([payingCall(challenge)], nonces)
    atOpening(async () => {
      await wallet.send(wallet.sign([payingCall(challenge)], { ...nonces, gas: 400_000n }))
      meddler.meddle('eth_getLogs', (_params, ask, chain) => (chain === TEMPO ? [] : ask()))
      meddler.meddle('eth_getTransactionReceipt', (_params, ask, chain) => (chain === TEMPO ? null : ask()))
    })
    const answer = await send({ type: 'transaction', signature })
    const { orderId } = await said(answer)
    if (isSilenced) other.meddle('eth_getLogs', () => Promise.reject(new Error('429')))
    const status = orderId ? (await stepLater(orderId)).status : answer.status
    // What the other one finds is found.
    assert.deepEqual(
      { status, taken: await taken() },
      { status: isSilenced ? 'settling' : 'settled', taken: LOT_PRICE },
    )
  })
