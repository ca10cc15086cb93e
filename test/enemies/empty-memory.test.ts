import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { said } from '../checkout/counter.ts'
import { type Meddler, Refused } from '../checkout/meddler.ts'
import { preempt } from '../checkout/x402-wallet.ts'
import { buyUrl, LOT_PRICE, payFor } from '../operations/desk.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import type { TestShop } from '../support/shop.ts'
import { startBetweenNodes, step } from './by-hand.ts'

// A shop is away for hours when a payment has just landed. Both of its nodes keep the last blocks only, and neither refuses to search those that it has
// thrown away: they say that nothing is in them.

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
  node.meddle('eth_getLogs', async (_params, ask, chainId) => {
    const kept = await since(chainId)
    return ((await ask()) as readonly { readonly blockNumber: string }[]).filter(
      ({ blockNumber }) => Number(blockNumber) >= kept,
    )
  })
  for (const method of ['eth_call', 'eth_getTransactionCount'])
    node.meddle(method, async ([, tag], ask, chainId) => {
      if (tag !== 'latest' && Number(tag) < (await since(chainId)))
        throw new Refused({ code: -32000, message: 'missing trie node' })
      return ask()
    })
}

/** Buys while nobody shows what lands, and comes back after hours. */
async function awayFor(t: TestContext, rail: typeof x402UnderTest, isCarried: boolean) {
  const { shop, clock, meddler, other, atOpening } = await startBetweenNodes(t)
  const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
  const till = await rail.till(shop)
  if (isCarried)
    atOpening(async () => void (await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()))))
  const silent = ['eth_getTransactionReceipt', 'eth_getLogs'].flatMap((method) =>
    [meddler, other].map((node) =>
      node.meddle(method, () => {
        throw new Error('nobody answers')
      }),
    ),
  )
  const paid = post(request, { [rail.header]: credential })
  const { orderId } = await said(await fetch(buyUrl(shop, rail), paid))
  for (const speak of silent) speak()
  assert.equal((await rail.till(shop)) - till, LOT_PRICE)
  for (const node of [meddler, other]) forget(node, shop)
  clock.move(10_000_000)
  const { native, tempo } = shop.chains
  for (const chain of [native, tempo])
    for (let mined = 0; mined < 2 * BLOCKS_KEPT; mined++) await chain.request({ method: 'evm_mine', params: [] })
  const statuses: string[] = []
  for (let look = 0; look < 3; look++) statuses.push((await step(shop, orderId)).status)
  const answer = await fetch(buyUrl(shop, rail), paid)
  return { end: statuses.at(-1), status: answer.status, taken: (await said(answer)).payment.taken }
}

for (const [rail, carrier] of [
  [x402UnderTest, 'us'],
  [x402UnderTest, 'somebody else'],
  [mppPullUnderTest, 'us'],
] as const)
  test(`E131: a payment by ${rail.name}, carried by ${carrier}, is not given up because nodes say of blocks that they have thrown away that nothing is in them`, async (t) => {
    assert.deepEqual(await awayFor(t, rail, carrier !== 'us'), { end: 'settling', status: 202, taken: 'unknown' })
  })
