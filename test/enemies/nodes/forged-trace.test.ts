import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hash } from '../../../src/base/address.ts'
import { keccak256 } from '../../../src/base/keccak.ts'
import { said } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import type { X402Payment } from '../../checkout/x402-wallet.ts'
import { buyUrl, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { step, withChains } from '../support/stepped-shop.ts'

// The first of two nodes hides where a payment went through, and shows a log of its own making instead, in a transaction that there is.

const NATIVE = 84532
const topicOf = (event: string) => `0x${Buffer.from(keccak256(Buffer.from(event))).toString('hex')}`
const CANCELED = topicOf('AuthorizationCanceled(address,bytes32)')
const USED = topicOf('AuthorizationUsed(address,bytes32)')

async function startWithForger(t: TestContext, topic: string) {
  const meddler = createMeddler()
  const shop = await startShop({
    withoutWorker: true,
    wrapTransport: (chainId, transport) => [meddler.wrap(chainId, transport), transport],
    configure: (config) => {
      const limits = { ...config.limits, waitMsMax: 500, receiptWaitMs: 300 }
      return withChains({ ...config, limits }, { burial: { blocks: 2n, ms: 0 } })
    },
  })
  t.after(() => shop.stop())
  const { request, credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
  const { authorization } = (JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment).payload
  const { native } = shop.chains
  const block = (await native.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })) as {
    number: string
    hash: Hash
    transactions: Hash[]
  }
  const old = block.transactions[0]!
  meddler.meddle('eth_getTransactionReceipt', ([hash], ask, chain) => (chain === NATIVE && hash !== old ? null : ask()))
  meddler.meddle('eth_getLogs', ([filter], ask, chain) => {
    const { address, topics } = filter as unknown as { address: string; topics: (string | string[])[] }
    if (chain !== NATIVE || topics[2] !== authorization.nonce.toLowerCase()) return ask()
    const place = { blockNumber: block.number, blockHash: block.hash, transactionHash: old, logIndex: '0x0' }
    return [{ ...place, address, topics: [topic, topics[1], topics[2]], data: '0x' }]
  })
  return {
    shop,
    before: await x402UnderTest.till(shop),
    send: () => fetch(buyUrl(shop, x402UnderTest), post(request, { [x402UnderTest.header]: credential })),
  }
}

for (const [what, topic] of [
  ['cancelled', CANCELED],
  ['spent on something else', USED],
] as const)
  test(`E76: a payment that went through is not said to be ${what} because the first of two nodes makes up where`, async (t) => {
    const { shop, before, send } = await startWithForger(t, topic)
    const answer = await send()
    const { orderId } = await said(answer)
    for (let mined = 0; mined < 3; mined++) await shop.chains.native.request({ method: 'evm_mine', params: [] })
    const status = orderId ? (await step(shop, orderId)).status : answer.status
    const taken = (await x402UnderTest.till(shop)) - before
    assert.deepEqual({ status, taken }, { status: 'settling', taken: LOT_PRICE })
  })
