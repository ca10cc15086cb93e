import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { said } from '../checkout/counter.ts'
import { createMeddler, type Meddler, Refused } from '../checkout/meddler.ts'
import { payingCall } from '../checkout/mpp-wallet.ts'
import { preempt } from '../checkout/x402-wallet.ts'
import { transfers } from '../crash/flows.ts'
import { AT_ONCE, buyUrl, LOT_PRICE, payFor, reconcileRail, TOMORROW } from '../operations/desk.ts'
import { mppStranger } from '../operations/strangers.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { awayFor, keptSince } from './away.ts'
import { startBetweenNodes } from './by-hand.ts'
import { startPull } from './pull.ts'

// A shop is away for hours when a payment has just landed. Its nodes, or one of them, keep the last blocks only, and do not refuse to search those that they
// have thrown away: they say that nothing is in them.

/** Returns what makes it remember again. */
function forget(node: Meddler, shop: TestShop): readonly (() => void)[] {
  const since = keptSince(shop)
  const isOld = async (block: string, chainId: number) => Number(block) < (await since(chainId))
  return [
    ...['eth_getTransactionReceipt', 'eth_getTransactionByHash'].map((method) =>
      node.meddle(method, async (_params, ask, chainId) => {
        const shown = (await ask()) as { readonly blockNumber: string } | null
        return shown && (await isOld(shown.blockNumber, chainId)) ? null : shown
      }),
    ),
    node.meddle('eth_getLogs', async (_params, ask, chainId) => {
      const kept = await since(chainId)
      const logs = (await ask()) as readonly { readonly blockNumber: string }[]
      return logs.filter(({ blockNumber }) => Number(blockNumber) >= kept)
    }),
    ...['eth_call', 'eth_getTransactionCount'].map((method) =>
      node.meddle(method, async ([, tag], ask, chainId) => {
        if (tag !== 'latest' && (await isOld(tag as string, chainId)))
          throw new Refused({ code: -32000, message: 'missing trie node' })
        return ask()
      }),
    ),
  ]
}

for (const [rail, carrier] of [
  [x402UnderTest, 'us'],
  [x402UnderTest, 'somebody else'],
  [mppPullUnderTest, 'us'],
] as const) {
  async function pay(t: TestContext) {
    const nodes = await startBetweenNodes(t)
    const { shop, atOpening } = nodes
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    if (carrier === 'somebody else')
      atOpening(async () => void (await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()))))
    const till = await rail.till(shop)
    return {
      nodes,
      buy: () => fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential })),
      taken: async () => (await rail.till(shop)) - till,
    }
  }

  test(`E131: a payment by ${rail.name}, carried by ${carrier}, is not given up because both nodes say of blocks that they have thrown away that nothing is in them`, async (t) => {
    const { nodes, buy, taken } = await pay(t)
    const forgetAll = () => void [nodes.meddler, nodes.other].map((node) => forget(node, nodes.shop))
    const end = (await awayFor(nodes, forgetAll, buy)).at(-1)
    const answer = await buy()
    const { payment } = await said(answer)
    assert.deepEqual(
      { taken: await taken(), end, status: answer.status, isTaken: payment.taken },
      { taken: LOT_PRICE, end: 'settling', status: 202, isTaken: 'unknown' },
    )
  })

  test(`E132: a payment by ${rail.name}, carried by ${carrier}, buys when only the first of two nodes says so`, async (t) => {
    const { nodes, buy, taken } = await pay(t)
    const end = (await awayFor(nodes, () => void forget(nodes.meddler, nodes.shop), buy)).at(-1)
    assert.deepEqual({ taken: await taken(), end }, { taken: LOT_PRICE, end: 'confirmed' })
  })
}

test('E132: so does a pull whose payer replaced it by another transaction with the same memo', async (t) => {
  const nodes = await startPull(t)
  const { wallet, challenge, atOpening, taken, send } = nodes
  const signature = wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n })
  atOpening(async () => {
    await wallet.send(wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n, gas: 400_000n }))
  })
  const show = () => send({ type: 'transaction', signature })
  const end = (await awayFor(nodes, () => void forget(nodes.meddler, nodes.shop), show)).at(-1)
  assert.deepEqual({ taken: await taken(), end }, { taken: LOT_PRICE, end: 'confirmed' })
})

const AMOUNT = 700_000n
/** More than any look goes back. */
const BLOCKS_AWAY = 2_300

test('E133: stray money goes back though the only node has thrown its block away while the shop was, and says that nothing is in it', async (t) => {
  const rail: RailUnderTest = mppPullUnderTest
  const meddler = createMeddler()
  const shop = await startShop({ wrapTransport: meddler.wrap, withoutWorker: true })
  t.after(() => shop.stop())
  const stranger = await mppStranger(shop)
  await reconcileRail(shop, rail, TOMORROW)
  await stranger.give(AMOUNT)
  await reconcileRail(shop, rail, TOMORROW)
  for (let mined = 0; mined < BLOCKS_AWAY; mined++) await shop.chains.tempo.request({ method: 'evm_mine', params: [] })
  const remember = forget(meddler, shop)
  await reconcileRail(shop, rail, TOMORROW).catch(() => {})
  for (const one of remember) one()
  for (let look = 0; look < 3; look++) await reconcileRail(shop, rail, AT_ONCE)
  assert.deepEqual(await transfers(shop, rail, demoAddressOf('treasury'), stranger.address), [AMOUNT])
})
