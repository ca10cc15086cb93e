import assert from 'node:assert/strict'
import { test } from 'node:test'
import { said } from '../../checkout/counter.ts'
import type { Answer } from '../../checkout/meddler.ts'
import { payingCall } from '../../checkout/mpp-wallet.ts'
import { buyUrl, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startPull } from '../support/pull-payment.ts'
import { startBetweenNodes, step } from '../support/stepped-shop.ts'

// Where a payment was used is searched from the block at which it was verified. The first of two nodes makes up that one's number, and hides the receipt
// afterwards: what was used and is found nowhere since then was used before, it seems. The other one shows it.

const NATIVE = 84532
const TEMPO = 42431

test('E90: a payment that went through is not said to be spent elsewhere because one of two nodes made up the block to search from', async (t) => {
  const { shop, clock, meddler } = await startBetweenNodes(t)
  const rail = x402UnderTest
  const before = await rail.till(shop)
  const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
  const heal = meddler.meddle('eth_getBlockByNumber', madeUp(NATIVE))
  meddler.meddle('eth_getTransactionReceipt', (_params, ask, chain) => (chain === NATIVE ? null : ask()))
  const send = () => fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
  // A head may be two seconds old.
  clock.move(3_000)
  const { orderId } = await said(await send())
  heal()
  clock.move(1_000_000)
  for (let mined = 0; mined < 3; mined++) await shop.chains.native.request({ method: 'evm_mine', params: [] })
  const { status } = await step(shop, orderId)
  const taken = (await rail.till(shop)) - before
  assert.deepEqual(
    { status, taken, answer: (await send()).status },
    { status: 'settled', taken: LOT_PRICE, answer: 202 },
  )
})

test('E101: nor is one that landed in a transaction of its payer’s own said to have run out', async (t) => {
  const { clock, meddler, atOpening, wallet, challenge, send, stepLater, taken } = await startPull(t)
  const nonces = { nonceKey: 0n, nonce: 0n }
  const signature = wallet.sign([payingCall(challenge)], nonces)
  const heal = meddler.meddle('eth_getBlockByNumber', madeUp(TEMPO))
  atOpening(async () => void (await wallet.send(wallet.sign([payingCall(challenge)], { ...nonces, gas: 400_000n }))))
  clock.move(3_000)
  const { orderId } = await said(await send({ type: 'transaction', signature }))
  heal()
  const { status } = await stepLater(orderId)
  assert.deepEqual({ status, taken: await taken() }, { status: 'settled', taken: LOT_PRICE })
})

/** Says of its newest block that it lies far beyond. */
function madeUp(chain: number): Answer {
  return async ([tag], ask, asked) => {
    const block = (await ask()) as { readonly number: string } | null
    if (!block || chain !== asked || tag !== 'latest') return block
    return { ...block, number: `0x${(Number(block.number) + 100_000).toString(16)}` }
  }
}
