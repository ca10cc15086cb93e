import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readReceipt } from '../../../src/chain/receipt.ts'
import { AnswerTooLarge } from '../../../src/chain/rpc.ts'
import { TooLarge } from '../../../src/chain/transport.ts'
import { orderCount, said } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { challengeOf, credentialOf } from '../../checkout/mpp-wallet.ts'
import { buyUrl, LOT } from '../../operations/desk.ts'
import { mppStranger } from '../../operations/strangers.ts'
import { post } from '../../support/buyers.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { crowdedNode, word } from '../support/crowded-node.ts'

// An empty log costs 375 gas and is 300 bytes in a receipt: whoever likes can make one that is larger than any answer should be.

const EMPTY_LOGS = 27_000

describe('E38: a receipt of more than 8 MiB', () => {
  test('is read where we need it', async (t) => {
    const rpc = await crowdedNode(t, { dust: 0, blocks: 1, emptyLogs: EMPTY_LOGS })
    assert.equal((await readReceipt(rpc, word('7')))?.logs.length, EMPTY_LOGS)
  })

  test('takes no question along that goes out with it, and its node is not to blame', async (t) => {
    const rpc = await crowdedNode(t, { dust: 0, blocks: 1, emptyLogs: EMPTY_LOGS })
    const huge = rpc.request('eth_getTransactionReceipt', [word('7')])
    const [refused, answered] = await Promise.allSettled([huge, rpc.request('eth_chainId')])
    assert.ok(refused.status === 'rejected' && refused.reason instanceof AnswerTooLarge)
    assert.equal(answered.status, 'fulfilled')
    assert.ok(rpc.standing().every(({ isUp }) => isUp))
  })
})

describe('E38: a receipt that is too large to be read', () => {
  const meddler = createMeddler()
  let shop: TestShop
  before(async () => {
    shop = await startShop({ withoutWorker: true, wrapTransport: meddler.wrap })
  })
  after(() => shop.stop())
  const looksAt = (hash: string) =>
    meddler.seen('eth_getTransactionReceipt').filter(({ params }) => params[0] === hash).length
  const enlarge = (hash: string) =>
    meddler.meddle('eth_getTransactionReceipt', ([asked], show) => {
      if (asked?.toLowerCase() === hash.toLowerCase()) throw new TooLarge()
      return show()
    })

  test('is looked at once for whoever says that it paid, and nobody is told to pay again', async (t) => {
    const stranger = await mppStranger(shop)
    const hash = await stranger.give(1n)
    t.after(enlarge(hash))
    const body = { ...LOT, beneficiary: stranger.address }
    const orders = await orderCount(shop)
    const looks = looksAt(hash)
    const url = buyUrl(shop, stranger.rail)
    const authorization = credentialOf(challengeOf(await fetch(url, post(body))), { type: 'hash', hash })
    const answer = await fetch(url, post(body, { authorization }))
    assert.deepEqual([answer.status, (await said(answer)).payment.taken], [202, 'unknown'])
    assert.equal(looksAt(hash), looks + 1)
    assert.equal(await orderCount(shop), orders)
  })
})
