import assert from 'node:assert/strict'
import { test } from 'node:test'
import { said } from '../checkout/counter.ts'
import { type Meddler, Refused } from '../checkout/meddler.ts'
import { preempt } from '../checkout/x402-wallet.ts'
import { buyUrl, payFor } from '../operations/desk.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import type { TestShop } from '../support/shop.ts'
import { startBetweenNodes, step } from './by-hand.ts'

// A shop is away for hours when a payment has just landed. The first of its nodes keeps receipts, logs and states of the last blocks only, as full nodes
// do; the second one keeps them all, as the shop's own alarm asks for.

const BLOCKS_KEPT = 8

function forget(node: Meddler, { chains }: TestShop): void {
  const since = async (chainId: number) => {
    const chain = [chains.native, chains.tempo].find((one) => one.chainId === chainId)!
    return Number(await chain.request({ method: 'eth_blockNumber' })) - BLOCKS_KEPT
  }
  for (const method of ['eth_getTransactionReceipt', 'eth_getTransactionByHash'])
    node.meddle(method, async (_params, ask, chainId) => {
      const shown = (await ask()) as { readonly blockNumber: string } | null
      return shown && Number(shown.blockNumber) < (await since(chainId)) ? null : shown
    })
  const refuse = (message: string) => {
    throw new Refused({ code: -32000, message })
  }
  node.meddle('eth_getLogs', async ([filter], ask, chainId) => {
    const { fromBlock } = filter as unknown as { readonly fromBlock: string }
    return Number(fromBlock) < (await since(chainId)) ? refuse('history has been pruned for this block') : ask()
  })
  for (const method of ['eth_call', 'eth_getTransactionCount'])
    node.meddle(method, async ([, tag], ask, chainId) =>
      tag !== 'latest' && Number(tag) < (await since(chainId)) ? refuse('missing trie node') : ask(),
    )
}

for (const [rail, carrier] of [
  [x402UnderTest, 'us'],
  [x402UnderTest, 'somebody else'],
  [mppPullUnderTest, 'us'],
] as const)
  test(`E108: a payment by ${rail.name}, carried by ${carrier}, that the first of two nodes has forgotten since is found by the other, and buys`, async (t) => {
    const { shop, clock, meddler, other, atOpening } = await startBetweenNodes(t)
    const { native, tempo } = shop.chains
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    if (carrier === 'somebody else')
      atOpening(async () => void (await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()))))
    const silent = ['eth_getTransactionReceipt', 'eth_getLogs'].flatMap((method) =>
      [meddler, other].map((node) =>
        node.meddle(method, () => {
          throw new Error('nobody answers')
        }),
      ),
    )
    const { orderId } = await said(await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential })))
    for (const speak of silent) speak()
    forget(meddler, shop)
    clock.move(10_000_000)
    for (const chain of [native, tempo])
      for (let mined = 0; mined < 2 * BLOCKS_KEPT; mined++) await chain.request({ method: 'evm_mine', params: [] })
    const statuses: string[] = []
    for (let look = 0; look < 5; look++) statuses.push((await step(shop, orderId)).status)
    assert.equal(statuses.at(-1), 'confirmed', statuses.join())
  })
