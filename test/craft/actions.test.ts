import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Address } from '../../src/base/address.ts'
import { accelerateActionSchema, burnActionSchema, craftActionSchema } from '../../src/surfaces/craft/view.ts'
import { mppPayer } from '../support/buyers.ts'
import { erc20Balance, nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import {
  accelerateOf,
  approveNfts,
  burnOf,
  crafterAtWork,
  finalStatus,
  mintNfts,
  PRICE,
  type Protocol,
  protocols,
  readyCrafter,
  refunded,
  TOKEN,
  timersOf,
} from './workshop.ts'

let shop: TestShop
let controller: Address
before(async () => {
  shop = await startShop()
  controller = shop.world.contracts.craftController
})
after(() => shop.stop())

/** What the shop has earned over a protocol so far. */
function earned(protocol: Protocol): Promise<bigint> {
  const { x402, mpp } = shop.config
  return protocol === 'x402'
    ? erc20Balance(shop.chains.native, x402!.asset, x402!.payTo)
    : erc20Balance(shop.chains.tempo, mpp!.currency.address, mpp!.recipient)
}

const tokensOf = (owner: Address) => erc20Balance(shop.chains.native, shop.world.contracts.craftToken, owner)

for (const protocol of protocols) {
  test(`a stock ${protocol} client burns an NFT: it is in the controller, and a timer runs`, async () => {
    verifies('1.5', '4.3.1', '4.3.4', '4.3.7', '8.2', 'D7.9')
    const crafter = await readyCrafter(shop)
    const before = await earned(protocol)
    const nft = crafter.nfts[0]!
    const response = await crafter.pay[protocol](`${shop.url}/craft/${protocol}/burn`, burnOf(crafter, [nft]))
    assert.equal(response.status, 200)
    const answer = burnActionSchema.parse(await response.json())
    assert.equal(await nftOwner(shop.chains.native, nft.contract, nft.tokenId), controller.toLowerCase())
    assert.equal((await earned(protocol)) - before, PRICE)
    const [timer, ...others] = await timersOf(shop, crafter)
    assert.deepEqual(others, [])
    assert.deepEqual(answer.timers, [
      { id: String(timer!.id), readyAt: new Date(Number(timer!.readyAt) * 1000).toISOString() },
    ])
    const { user, payer, status, nfts, refund, error } = answer
    assert.deepEqual(
      { user, payer, status, nfts, refund, error },
      { user: crafter.address, payer: crafter.address, status: 'confirmed', nfts: [nft], refund: null, error: null },
    )
    const receipt = await crafter.wallet.getTransactionReceipt({ hash: answer.actionTx as Address })
    assert.deepEqual([receipt.status, receipt.to], ['success', controller.toLowerCase()])
  })

  test(`a stock ${protocol} client burns 20 NFTs of two collections in one transaction`, async () => {
    verifies('2.5.3', '4.3.7', '8.1', 'D7.6')
    const crafter = await readyCrafter(shop)
    const [first, second] = shop.world.contracts.collections
    const nfts = [
      ...(await mintNfts(shop, crafter.address, 12, first!)),
      ...(await mintNfts(shop, crafter.address, 8, second!)),
    ]
    await approveNfts(shop, crafter, nfts)
    const response = await crafter.pay[protocol](`${shop.url}/craft/${protocol}/burn`, burnOf(crafter, nfts))
    assert.equal(response.status, 200)
    assert.deepEqual(burnActionSchema.parse(await response.json()).nfts, nfts)
    for (const { contract, tokenId } of nfts)
      assert.equal(await nftOwner(shop.chains.native, contract, tokenId), controller.toLowerCase())
    assert.equal((await timersOf(shop, crafter)).length, 1)
  })

  test(`a stock ${protocol} client accelerates: the amount is charged, the timer is shorter`, async () => {
    verifies('1.5', '4.3.1', '4.3.5', '4.3.8', '8.2', 'D7.9')
    const crafter = await crafterAtWork(shop, 2n * TOKEN)
    const dollars = await earned(protocol)
    const [before] = await timersOf(shop, crafter)
    const response = await crafter.pay[protocol](
      `${shop.url}/craft/${protocol}/accelerate`,
      accelerateOf(crafter, 2n * TOKEN),
    )
    assert.equal(response.status, 200)
    const answer = accelerateActionSchema.parse(await response.json())
    assert.deepEqual([answer.amount, answer.amountSource], [String(2n * TOKEN), 'request'])
    const [timer] = await timersOf(shop, crafter)
    assert.equal(before!.readyAt - timer!.readyAt, 1_200n)
    assert.equal(answer.timers[0]!.readyAt, new Date(Number(timer!.readyAt) * 1000).toISOString())
    assert.equal(await tokensOf(crafter.address), 98n * TOKEN)
    assert.equal((await earned(protocol)) - dollars, PRICE)
  })

  test(`an acceleration without an amount charges the published default over ${protocol}, never the whole allowance`, async () => {
    verifies('D7.2')
    const crafter = await crafterAtWork(shop)
    const response = await crafter.pay[protocol](`${shop.url}/craft/${protocol}/accelerate`, accelerateOf(crafter))
    const answer = accelerateActionSchema.parse(await response.json())
    const { defaultAmount } = shop.config.game.craft!
    assert.deepEqual([answer.amount, answer.amountSource], [String(defaultAmount), 'default'])
    assert.equal(await tokensOf(crafter.address), 100n * TOKEN - defaultAmount)
  })

  test(`N-06: the status of a ${protocol} action is found by its payment transaction, in any case`, async () => {
    verifies('1.6', '2.7.1')
    const crafter = await readyCrafter(shop)
    const response = await crafter.pay[protocol](
      `${shop.url}/craft/${protocol}/burn`,
      burnOf(crafter, crafter.nfts.slice(0, 1)),
    )
    const { updatedAt: _, ...bought } = burnActionSchema.parse(await response.json())
    const { updatedAt: __, ...own } = burnActionSchema.parse(await finalStatus(bought.statusUrl))
    assert.deepEqual(own, bought)
    const { actionId: _action, orderId: _order, flowId: _flow, receipt: _receipt, ...shown } = bought
    for (const name of [bought.paymentTx!, `0x${bought.paymentTx!.slice(2).toUpperCase()}`]) {
      const status = await finalStatus(`${shop.url}/craft/${protocol}/actions/${name}`)
      const { updatedAt: ___, ...known } = craftActionSchema.parse(status)
      assert.deepEqual(known, { ...shown, statusUrl: `${shop.url}/craft/${protocol}/actions/${bought.paymentTx}` })
    }
  })
}

test('a payment that moved before we heard of it (MPP push) burns as well', async () => {
  const crafter = await readyCrafter(shop)
  const nft = crafter.nfts[0]!
  const pay = mppPayer(shop, crafter.account, 'push')
  const response = await pay(`${shop.url}/craft/mpp/burn`, burnOf(crafter, [nft]))
  assert.equal(response.status, 200)
  assert.equal(await nftOwner(shop.chains.native, nft.contract, nft.tokenId), controller.toLowerCase())
})

test('a pushed payment for what cannot be done comes back in full', async () => {
  const crafter = await readyCrafter(shop)
  const stranger = await readyCrafter(shop)
  const pay = mppPayer(shop, crafter.account, 'push')
  const response = await pay(`${shop.url}/craft/mpp/burn`, burnOf(stranger, stranger.nfts))
  const problem = (await response.json()) as { code: string; reason: string; retry: { statusUrl: string } }
  assert.deepEqual([response.status, problem.code, problem.reason], [409, 'fulfilment_failed', 'payer_not_user'])
  const action = burnActionSchema.parse(await finalStatus(problem.retry.statusUrl))
  assert.equal(action.status, 'refunded')
  assert.equal(await refunded(shop, 'mpp', action), PRICE)
  for (const { contract, tokenId } of stranger.nfts)
    assert.equal(await nftOwner(shop.chains.native, contract, tokenId), stranger.address.toLowerCase())
})
