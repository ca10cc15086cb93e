import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Hex } from '../../../src/base/hex.ts'
import { said } from '../../checkout/counter.ts'
import { payingCall } from '../../checkout/mpp-wallet.ts'
import { LOT_PRICE } from '../../operations/desk.ts'
import { startPull } from '../support/pull-payment.ts'
import { drop } from '../support/stepped-shop.ts'

// What lands after its order was given up, and by another way than its hash at the first node.

const TEMPO = 42431
/** Without an end of its own. */
const OPEN_END = { nonceKey: 0n, nonce: 0n, validBefore: undefined }

for (const [isSilenced, and] of [
  [false, ''],
  [true, ', and the other one does not say'],
] as const)
  test(`E91: a push that comes back after its order was given up is not asked for again because the first of two nodes hides it${and}`, async (t) => {
    const { wallet, challenge, meddler: first, other, tempo, atOpening, taken, send, giveUp } = await startPull(t)
    const raw = wallet.sign([payingCall(challenge)], OPEN_END)
    const hash = await wallet.send(raw)
    atOpening(() => drop(tempo, hash))
    const payload = { type: 'hash', hash }
    const { orderId } = await said(await send(payload))
    await giveUp(orderId)
    await wallet.send(raw)
    first.meddle('eth_getTransactionReceipt', (_params, ask, chain) => (chain === TEMPO ? null : ask()))
    if (isSilenced) other.meddle('eth_getTransactionReceipt', () => Promise.reject(new Error('429')))
    const { status } = await send(payload)
    assert.deepEqual({ taken: await taken(), isAskedAgain: status === 402 }, { taken: LOT_PRICE, isAskedAgain: false })
  })

test('E92: a pull whose payer replaced it by another transaction with the same memo is not asked for again when that lands after all', async (t) => {
  const { wallet, challenge, meddler: first, other, taken, send, giveUp } = await startPull(t)
  const heals = [first, other].map((node) =>
    node.meddle('eth_sendRawTransaction', () => Promise.reject(new Error('nobody takes it'))),
  )
  const signature: Hex = wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n })
  const payload = { type: 'transaction', signature }
  const { orderId } = await said(await send(payload))
  await giveUp(orderId)
  for (const heal of heals) heal()
  await wallet.send(wallet.sign([payingCall(challenge)], { ...OPEN_END, gas: 400_000n }))
  const { status } = await send(payload)
  assert.deepEqual({ taken: await taken(), isAskedAgain: status === 402 }, { taken: LOT_PRICE, isAskedAgain: false })
})

test('E92: nor when that landed before the one that it replaced is shown', async (t) => {
  const { wallet, challenge, taken, send } = await startPull(t)
  await wallet.send(wallet.sign([payingCall(challenge)], { ...OPEN_END, gas: 400_000n }))
  const signature: Hex = wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n })
  const { status } = await send({ type: 'transaction', signature })
  assert.deepEqual({ taken: await taken(), isAskedAgain: status === 402 }, { taken: LOT_PRICE, isAskedAgain: false })
})

test('E118: nor does anybody wait for minutes because the nodes search as long', { timeout: 60_000 }, async (t) => {
  const { wallet, challenge, meddler: first, other, taken, send } = await startPull(t, { lookMsMax: 500 })
  await wallet.send(wallet.sign([payingCall(challenge)], { ...OPEN_END, gas: 400_000n }))
  const signature: Hex = wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n })
  for (const node of [first, other])
    node.meddle('eth_getLogs', (_params, ask, chain) => (chain === TEMPO ? new Promise(() => {}) : ask()))
  const answer = await send({ type: 'transaction', signature })
  const { payment } = await said(answer)
  assert.deepEqual([answer.status, payment.taken, await taken()], [409, 'unknown', LOT_PRICE])
})
