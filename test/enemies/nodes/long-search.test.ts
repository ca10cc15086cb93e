import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { movableClock, said, setLot } from '../../checkout/counter.ts'
import { createMeddler, Refused } from '../../checkout/meddler.ts'
import { encoded, paymentFor, preempt, requiredOf } from '../../checkout/x402-wallet.ts'
import { buyUrl, LOT, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { letGo, step, withChains } from '../support/stepped-shop.ts'

// An order is left open while the shop is away, for hours: nodes refuse to search so many blocks at once, today and for ever.

const BLOCKS_MAX = 1_000

const refused = () => new Refused({ code: -32602, message: `at most ${BLOCKS_MAX} blocks may be searched` })
const unanswered = () => new Error('no answer within 8000 ms')

async function startBeforePickyNode(t: TestContext, { rail }: RailUnderTest, failure: () => Error = refused) {
  const clock = movableClock()
  const meddler = createMeddler()
  let opened = async (): Promise<void> => {}
  const shop = await startShop({
    clock,
    withoutWorker: true,
    wrapTransport: meddler.wrap,
    waypoint: async (name) => {
      if (name === 'settle.begun') await opened()
    },
    configure: (config) => {
      const limits = { ...config.limits, waitMsMax: 500, receiptWaitMs: 100 }
      return withChains({ ...config, limits }, { burial: { blocks: 2n, ms: 0 } })
    },
  })
  t.after(() => shop.stop())
  const chain = rail === 'x402' ? shop.chains.native : shop.chains.tempo
  const head = async () => Number(await chain.request({ method: 'eth_blockNumber' }))
  meddler.meddle('eth_getLogs', async ([filter], ask, chainId) => {
    const { fromBlock, toBlock } = filter as unknown as { readonly fromBlock: string; readonly toBlock: string }
    const last = toBlock === 'latest' ? await head() : Number(toBlock)
    if (chainId === chain.chainId && last - Number(fromBlock) >= BLOCKS_MAX) throw failure()
    return ask()
  })
  return {
    shop,
    meddler,
    atOpening(work: () => Promise<void>) {
      opened = work
    },
    async hoursPass() {
      opened = async () => {}
      clock.move(10_000_000)
      for (let mined = 0; mined <= BLOCKS_MAX; mined++) await chain.request({ method: 'evm_mine', params: [] })
    },
  }
}

test('E38: what somebody else carried to the chain is found after hours, however few blocks a node searches at once', async (t) => {
  const rail = x402UnderTest
  const { shop, meddler, atOpening, hoursPass } = await startBeforePickyNode(t, rail)
  const buyer = await fundedWallet(shop)
  const request = { ...LOT, beneficiary: buyer.address }
  const payment = await paymentFor(buyer, requiredOf(await fetch(buyUrl(shop, rail), post(request))))
  let speak = (): void => {}
  atOpening(async () => {
    await preempt(shop, payment)
    speak = meddler.meddle('eth_getLogs', () => {
      throw new Error('nobody answers')
    })
  })
  const { orderId } = await said(await fetch(buyUrl(shop, rail), post(request, { [rail.header]: encoded(payment) })))
  await letGo(shop, orderId)
  speak()
  await hoursPass()
  assert.equal((await step(shop, orderId)).status, 'settled')
})

for (const [title, failure] of [
  [
    'E38: an order whose payment never came is given up after hours, however few blocks a node searches at once',
    refused,
  ],
  ['E38: an order whose payment never came is given up after hours, however long a node takes to search', unanswered],
] as const)
  test(title, async (t) => {
    const rail = mppPullUnderTest
    const { shop, meddler, hoursPass } = await startBeforePickyNode(t, rail, failure)
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    meddler.meddle('eth_sendRawTransaction', (_params, ask, chainId) => {
      if (chainId === shop.chains.tempo.chainId) throw new Error('nobody answers')
      return ask()
    })
    const { orderId } = await said(await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential })))
    await hoursPass()
    assert.equal((await step(shop, orderId)).status, 'expired')
  })

test('E38: a payment that ran out is asked for again, however few blocks a node searches at once', async (t) => {
  const rail = mppPullUnderTest
  const { shop, hoursPass } = await startBeforePickyNode(t, rail)
  const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
  await hoursPass()
  const answer = await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
  const { code } = await said(answer)
  assert.deepEqual([answer.status, code], [402, 'payment_expired'])
})

test('M-13: what was asked for before the price of a lot changed is honoured, however little a node searches', async (t) => {
  const meddler = createMeddler()
  const shop = await startShop({ wrapTransport: meddler.wrap })
  t.after(() => shop.stop())
  const rail = x402UnderTest
  await setLot(shop, 74, { price: '0.25', supply: 10n })
  const { request, credential } = await payFor(shop, rail, await fundedWallet(shop), { saleId: 74 })
  await setLot(shop, 74, { price: '0.30', supply: 10n })
  // Another process of the shop: what it knows of prices is fresh.
  const { url } = await shop.replica()
  meddler.meddle('eth_getLogs', () => {
    throw refused()
  })
  const answer = await fetch(`${url}/agentic/${rail.rail}/buy`, post(request, { [rail.header]: credential }))
  assert.equal(answer.status, 200)
})
