import assert from 'node:assert/strict'
import { test } from 'node:test'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { said } from '../../checkout/counter.ts'
import { type Meddler, Refused } from '../../checkout/meddler.ts'
import { sendFrom } from '../../checkout/x402-wallet.ts'
import { buyUrl, payFor } from '../../operations/desk.ts'
import { transfer } from '../../operations/strangers.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest as rail } from '../../support/credentials.ts'
import type { TestShop } from '../../support/shop.ts'
import { startBetweenNodes, step } from '../support/stepped-shop.ts'

// One of two honest nodes is always a block or two behind the other: its provider hears of blocks a few seconds later.

/** It shows nothing of the newest block of this chain, and says so to whoever asks as of that one. */
function lag(node: Meddler, { native }: TestShop['chains']): void {
  const newest = async () => Number(await native.request({ method: 'eth_blockNumber' })) - 1
  const hex = (block: number) => `0x${block.toString(16)}`
  const isHere = (chainId: number) => chainId === native.chainId
  node.meddle('eth_blockNumber', async (_params, ask, chainId) => (isHere(chainId) ? hex(await newest()) : ask()))
  node.meddle('eth_getBlockByNumber', async ([tag], ask, chainId) => {
    if (!isHere(chainId)) return ask()
    const block = tag === 'latest' ? await newest() : Number(tag)
    if (block > (await newest())) return null
    return native.request({ method: 'eth_getBlockByNumber', params: [hex(block), false] })
  })
  node.meddle('eth_call', async ([call, tag], ask, chainId) => {
    if (!isHere(chainId)) return ask()
    if (tag !== 'latest' && Number(tag) > (await newest())) throw new Refused({ message: 'header not found' })
    return native.request({ method: 'eth_call', params: [call, tag === 'latest' ? hex(await newest()) : tag] })
  })
  node.meddle('eth_getTransactionReceipt', async (_params, ask, chainId) => {
    const receipt = (await ask()) as { readonly blockNumber: string } | null
    return isHere(chainId) && Number(receipt?.blockNumber) > (await newest()) ? null : receipt
  })
}

for (const place of ['first', 'second'] as const)
  test(`E44: an order whose payment failed for good is given up though the ${place} of two nodes is always a block behind`, async (t) => {
    const { shop, clock, meddler, other, atOpening } = await startBetweenNodes(t)
    const { native } = shop.chains
    const buyer = await fundedWallet(shop)
    const { request, credential } = await payFor(shop, rail, buyer)
    // Nothing is left for the payment when it comes.
    const elsewhere = async () => {
      const all = await rail.balance(shop, buyer.address)
      await sendFrom(native, buyer, shop.config.x402!.asset, transfer(demoAddressOf('treasury'), all))
    }
    atOpening(elsewhere)
    const { orderId } = await said(await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential })))
    assert.equal((await shop.service.checkout.orders.byId(orderId))?.status, 'settling')
    lag(place === 'first' ? meddler : other, shop.chains)
    clock.move(10_000_000)
    const statuses = new Set<string>()
    for (let look = 0; look < 5; look++) {
      await native.request({ method: 'evm_mine', params: [] })
      statuses.add((await step(shop, orderId)).status)
    }
    assert.ok(statuses.has('expired'), [...statuses].join())
  })
