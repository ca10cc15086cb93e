import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { said } from '../../checkout/counter.ts'
import { createMeddler, type Meddler, Refused } from '../../checkout/meddler.ts'
import { payingCall } from '../../checkout/mpp-wallet.ts'
import { preempt } from '../../checkout/x402-wallet.ts'
import { transfers } from '../../crash/flows.ts'
import { AT_ONCE, buyUrl, LOT_PRICE, payFor, reconcileRail, TOMORROW } from '../../operations/desk.ts'
import { mppStranger } from '../../operations/strangers.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { awayFor, forget } from '../support/pruned-nodes.ts'
import { startPull } from '../support/pull-payment.ts'
import { startBetweenNodes } from '../support/stepped-shop.ts'

// A shop is away for hours when a payment has just landed. Its nodes, or one of them, keep the last blocks only, and do not refuse to search those that they
// have thrown away: they say that nothing is in them.

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

test('E133: orphaned money goes back though the only node has thrown its block away while the shop was, and says that nothing is in it', async (t) => {
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

/** It has nothing of what comes after this block, and says so. Returns what lets it catch up. */
function freeze(node: Meddler, { chainId: own }: { readonly chainId: number }, at: string): readonly (() => void)[] {
  const isLater = (block: string) => block.startsWith('0x') && Number(block) > Number(at)
  return [
    node.meddle('eth_blockNumber', (_params, ask, chainId) => (chainId === own ? at : ask())),
    node.meddle('eth_getBlockByNumber', async ([tag], ask, chainId) => {
      const block = (await ask()) as { readonly number: string; readonly timestamp: string } | null
      if (chainId !== own || block === null || !isLater(block.number)) return block
      return tag === 'latest' ? { ...block, number: at, timestamp: '0x1' } : null
    }),
    node.meddle('eth_getTransactionReceipt', async (_params, ask, chainId) => {
      const receipt = (await ask()) as { readonly blockNumber: string } | null
      return chainId === own && receipt && isLater(receipt.blockNumber) ? null : receipt
    }),
    node.meddle('eth_getLogs', async (_params, ask, chainId) => {
      const logs = (await ask()) as readonly { readonly blockNumber: string }[]
      return chainId === own ? logs.filter(({ blockNumber }) => !isLater(blockNumber)) : logs
    }),
  ]
}

type Chain = TestShop['chains']['tempo']
const newestOf = async (chain: Chain) => (await chain.request({ method: 'eth_blockNumber' })) as string

for (const [title, hinder] of [
  ['stands still since then', async (node: Meddler, chain: Chain) => freeze(node, chain, await newestOf(chain))],
  ['has only begun to catch up', async (node: Meddler, chain: Chain) => freeze(node, chain, '0x1')],
  [
    'refuses to search them now',
    async (node: Meddler) => [
      node.meddle('eth_getLogs', () => {
        throw new Refused({ code: -32000, message: 'the index of logs is being built' })
      }),
    ],
  ],
  [
    'has no time to search them now',
    async (node: Meddler) => [
      node.meddle('eth_getLogs', () => {
        throw new Error('no answer within 8000 ms')
      }),
    ],
  ],
] as const)
  test(`E134: nor is it lost, nor what came meanwhile, when the other of two nodes has the blocks and ${title}`, async (t) => {
    const rail: RailUnderTest = mppPullUnderTest
    const { shop, clock, meddler, other } = await startBetweenNodes(t)
    const { tempo } = shop.chains
    const mine = async (blocks: number) => {
      for (let mined = 0; mined < blocks; mined++) await tempo.request({ method: 'evm_mine', params: [] })
    }
    const stranger = await mppStranger(shop)
    await reconcileRail(shop, rail, TOMORROW)
    await stranger.give(AMOUNT)
    await reconcileRail(shop, rail, TOMORROW)
    const hindered = await hinder(other, tempo)
    await stranger.give(AMOUNT + 1n)
    clock.move(10_000_000)
    await mine(BLOCKS_AWAY)
    const forgotten = forget(meddler, shop)
    await reconcileRail(shop, rail, TOMORROW).catch(() => {})
    // All is well again, and the shop goes on.
    for (const one of [...forgotten, ...hindered]) one()
    for (let look = 0; look < 3; look++) await reconcileRail(shop, rail, AT_ONCE)
    assert.deepEqual(await transfers(shop, rail, demoAddressOf('treasury'), stranger.address), [AMOUNT, AMOUNT + 1n])
  })
