import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { keccak256, toBytes } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Hex } from '../../../src/base/hex.ts'
import { parseUsd } from '../../../src/base/money.ts'
import { createRpc } from '../../../src/chain/rpc.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { ended, movableClock, said, setLot } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { nftsOf } from '../../crash/flows.ts'
import { buyUrl, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { addressWord, numberWord } from '../../support/hex-words.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop } from '../../support/shop.ts'

// The node that is asked first belongs to an enemy. What it shows is well formed, and made up.

const DEAR = 79
const PRICE = 150_000_000n
const topic = (text: string) => keccak256(toBytes(text))

/** A shop with a dear lot and two ways to each chain: the first one can lie, the second one never does. */
async function shopWithLiar(t: TestContext, { waitMsMax = AS_FAR_AS_IT_CAN_MS } = {}) {
  const meddler = createMeddler()
  const shop = await startShop({
    wrapTransport: (chainId, transport) => [meddler.wrap(chainId, transport), transport],
    configure: (config) => {
      const { limits, operations } = config
      return {
        ...config,
        limits: { ...limits, waitMsMax, receiptWaitMs: 100 },
        operations: { ...operations, secondOpinionFrom: parseUsd('100.00') },
      }
    },
  })
  t.after(() => shop.stop())
  await setLot(shop, DEAR, { price: '150.00', supply: 5n })
  return { shop, meddler, buyer: await fundedWallet(shop) }
}

type Shop = Awaited<ReturnType<typeof shopWithLiar>>

/** Swallows every transaction and answers for it as if it had paid: a receipt with all the right logs. */
function inventPayments({ shop, meddler }: Shop, rail: RailUnderTest, buyer: PrivateKeyAccount) {
  const { x402, mpp } = shop.config
  const chainId = rail.rail === 'x402' ? 84532 : 42431
  const asset = rail.rail === 'x402' ? x402!.asset : mpp!.currency.address
  const payTo = rail.rail === 'x402' ? x402!.payTo : mpp!.recipient
  const sent = new Map<string, string>()
  const stop = [
    meddler.meddle('eth_sendRawTransaction', ([raw = ''], ask, chain) => {
      if (chain !== chainId) return ask()
      const hash = keccak256(raw as Hex)
      sent.set(hash, raw)
      return hash
    }),
    meddler.meddle('eth_getTransactionReceipt', async ([hash = ''], ask, chain) => {
      const raw = sent.get(hash)
      if (chain !== chainId || raw === undefined) return ask()
      const at = { address: asset, blockNumber: '0x1', transactionHash: hash }
      const transfer = [topic('Transfer(address,address,uint256)'), addressWord(buyer.address), addressWord(payTo)]
      const logs =
        rail.rail === 'x402'
          ? [
              {
                ...at,
                topics: [topic('AuthorizationUsed(address,bytes32)'), addressWord(buyer.address), nonceIn(raw)],
                data: '0x',
                logIndex: '0x0',
              },
              { ...at, topics: transfer, data: numberWord(PRICE), logIndex: '0x1' },
            ]
          : [
              { ...at, topics: transfer, data: numberWord(PRICE), logIndex: '0x0' },
              {
                ...at,
                topics: [
                  topic('TransferWithMemo(address,address,uint256,bytes32)'),
                  addressWord(buyer.address),
                  addressWord(payTo),
                  memoIn(raw),
                ],
                data: numberWord(PRICE),
                logIndex: '0x1',
              },
            ]
      const from = buyer.address
      return { transactionHash: hash, status: '0x1', blockNumber: '0x1', blockHash: numberWord(1n), from, logs }
    }),
  ]
  return () => {
    for (const one of stop) one()
  }
}

/** The authorization's nonce is the sixth word of the call. */
const nonceIn = (raw: string): Hex => `0x${raw.slice(raw.indexOf('e3ee160e') + 8 + 5 * 64).slice(0, 64)}`
/** A memo of ours begins with the tag of its protocol. */
const memoIn = (raw: string): Hex => `0x${raw.slice(raw.indexOf('95777d59') + 8 + 2 * 64).slice(0, 64)}`

describe('a payment that the first node makes up', () => {
  for (const rail of [x402UnderTest, mppPullUnderTest]) {
    test(`by ${rail.name}, large, buys nothing as long as the second node does not show it, and pays when it does`, async (t) => {
      const liar = await shopWithLiar(t)
      const { shop, buyer } = liar
      const { request, credential } = await payFor(shop, rail, buyer, { saleId: DEAR })
      const till = await rail.till(shop)
      const stop = inventPayments(liar, rail, buyer)
      const response = await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
      const { orderId, payment } = await said(response)
      assert.deepEqual([response.status, payment.taken], [202, 'unknown'])
      assert.equal(await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address), 0, 'delivered and not paid')
      assert.equal(await rail.till(shop), till)
      stop()
      // The bytes are sent again, to a node that takes them.
      assert.equal((await ended(shop, rail.rail, orderId)).status, 'confirmed')
      assert.equal((await rail.till(shop)) - till, PRICE)
      assert.equal(await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address), 1)
    })
  }
})

describe('an honest pair of nodes', () => {
  for (const rail of [x402UnderTest, mppPullUnderTest])
    test(`settles a large payment by ${rail.name} within its call, as a small one`, async (t) => {
      const { shop, buyer } = await shopWithLiar(t, { waitMsMax: 600_000 })
      const { request, credential } = await payFor(shop, rail, buyer, { saleId: DEAR })
      assert.equal((await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))).status, 200)
    })

  test('of which the second is down settles no large payment, and loses none', async (t) => {
    let isDown = false
    const shop = await startShop({
      wrapTransport: (_chainId, transport) => [
        transport,
        (request) => (isDown ? Promise.reject(new Error('down')) : transport(request)),
      ],
      configure: ({ limits, ...config }) => ({ ...config, limits: { ...limits, waitMsMax: AS_FAR_AS_IT_CAN_MS } }),
    })
    t.after(() => shop.stop())
    await setLot(shop, DEAR, { price: '150.00', supply: 5n })
    const buyer = await fundedWallet(shop)
    const { request, credential } = await payFor(shop, x402UnderTest, buyer, { saleId: DEAR })
    isDown = true
    const response = await fetch(buyUrl(shop, x402UnderTest), post(request, { 'payment-signature': credential }))
    assert.equal(response.status, 202)
    isDown = false
    assert.equal((await ended(shop, 'x402', (await said(response)).orderId)).status, 'confirmed')
  })
})

describe('a node', () => {
  test('that takes transactions and throws them away delays a purchase by a moment', async (t) => {
    const { shop, meddler, buyer } = await shopWithLiar(t)
    meddler.meddle('eth_sendRawTransaction', ([raw]) => keccak256(raw as Hex))
    const { request, credential } = await payFor(shop, x402UnderTest, buyer)
    const response = await fetch(buyUrl(shop, x402UnderTest), post(request, { 'payment-signature': credential }))
    assert.equal((await ended(shop, 'x402', (await said(response)).orderId)).status, 'confirmed')
  })

  test('that turns into one of another chain is not listened to after a minute, nor is it sent anything', async () => {
    const clock = movableClock()
    let chainId = '0x7'
    const asked: string[] = []
    const turncoat: RpcTransport = async ({ method }) => {
      if (method !== 'eth_chainId') asked.push(method)
      return { result: method === 'eth_chainId' ? chainId : 'turncoat' }
    }
    const honest: RpcTransport = async ({ method }) => ({ result: method === 'eth_chainId' ? '0x7' : 'honest' })
    const rpc = createRpc({ chainId: 7, clock, transports: [turncoat, honest] })
    assert.equal(await rpc.request('eth_call'), 'turncoat')
    chainId = '0x1'
    clock.move(61_000)
    asked.length = 0
    for (const method of ['eth_call', 'eth_sendRawTransaction']) assert.equal(await rpc.request(method), 'honest')
    assert.deepEqual(asked, [])
    const alone = createRpc({ chainId: 7, clock, transports: [turncoat] })
    await assert.rejects(alone.request('eth_call'), { code: 'chain_unavailable' })
  })
})
