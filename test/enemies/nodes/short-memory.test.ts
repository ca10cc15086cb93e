import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Meddler, Refused } from '../../checkout/meddler.ts'
import { payingCall } from '../../checkout/mpp-wallet.ts'
import { preempt } from '../../checkout/x402-wallet.ts'
import { buyUrl, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import type { TestShop } from '../../support/shop.ts'
import { awayFor, keptSince } from '../support/pruned-nodes.ts'
import { startPull } from '../support/pull-payment.ts'
import { startBetweenNodes } from '../support/stepped-shop.ts'

// A shop is away for hours when a payment has just landed. The first of its nodes keeps receipts, logs and states of the last blocks only, as full nodes
// do; the second one keeps them all, as the shop's own alarm asks for.

function forget(node: Meddler, shop: TestShop): void {
  const since = keptSince(shop)
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
    const nodes = await startBetweenNodes(t)
    const { shop, atOpening } = nodes
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    if (carrier === 'somebody else')
      atOpening(async () => void (await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()))))
    const statuses = await awayFor(
      nodes,
      () => forget(nodes.meddler, nodes.shop),
      () => fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential })),
    )
    assert.equal(statuses.at(-1), 'confirmed', statuses.join())
  })

test('E111: a pull whose payer replaced it by another transaction with the same memo, which the first of two nodes has forgotten since, buys', async (t) => {
  const nodes = await startPull(t)
  const { wallet, challenge, atOpening, taken, send } = nodes
  const signature = wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n })
  atOpening(async () => {
    await wallet.send(wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n, gas: 400_000n }))
  })
  const statuses = await awayFor(
    nodes,
    () => forget(nodes.meddler, nodes.shop),
    () => send({ type: 'transaction', signature }),
  )
  assert.deepEqual({ taken: await taken(), end: statuses.at(-1) }, { taken: LOT_PRICE, end: 'confirmed' })
})

test('E112: a payment that reverted in a block that the first of two nodes has forgotten since is given up', async (t) => {
  const nodes = await startBetweenNodes(t)
  const { shop } = nodes
  const rail = x402UnderTest
  const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
  const till = await rail.till(shop)
  await shop.chains.native.request({ method: 'dev_fault', params: [{ kind: 'revert', to: shop.config.x402!.asset }] })
  const statuses = await awayFor(
    nodes,
    () => forget(nodes.meddler, nodes.shop),
    () => fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential })),
  )
  assert.deepEqual({ taken: (await rail.till(shop)) - till, end: statuses.at(-1) }, { taken: 0n, end: 'expired' })
})
