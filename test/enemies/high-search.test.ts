import assert from 'node:assert/strict'
import { test } from 'node:test'
import { said } from '../checkout/counter.ts'
import { buyUrl, LOT_PRICE, payFor } from '../operations/desk.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { startBetweenNodes, step } from './by-hand.ts'

// Where a payment was used is searched from the block at which it was verified. The first of two nodes makes up that one's number, and hides the receipt
// afterwards: what was used and is found nowhere since then was used before, it seems.

const NATIVE = 84532

test('E90: a payment that went through is not said to be spent elsewhere because one of two nodes made up the block to search from', async (t) => {
  const { shop, clock, meddler } = await startBetweenNodes(t)
  const rail = x402UnderTest
  const before = await rail.till(shop)
  const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
  const heal = meddler.meddle('eth_getBlockByNumber', async ([tag], ask, chain) => {
    const block = (await ask()) as { readonly number: string } | null
    if (!block || chain !== NATIVE || tag !== 'latest') return block
    return { ...block, number: `0x${(Number(block.number) + 100_000).toString(16)}` }
  })
  const show = meddler.meddle('eth_getTransactionReceipt', (_params, ask, chain) => (chain === NATIVE ? null : ask()))
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
    { status: 'settling', taken: LOT_PRICE, answer: 202 },
  )
  show()
  assert.equal((await step(shop, orderId)).status, 'settled')
})
