import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createWallet } from '../../../src/chain/wallet.ts'
import { sandboxKey } from '../../../src/config/published.ts'
import { ended } from '../../checkout/counter.ts'
import { Refused } from '../../checkout/meddler.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { callOf, FEES, newestState, senderDesk } from '../../support/sender-desk.ts'
import { startShop } from '../../support/shop.ts'

// Somebody else has one of our keys, or a node says so: a nonce that we signed went to a transaction that is not ours.

describe('a stranger with a hot key', () => {
  let store: TestStore
  before(async () => {
    store = await openStore('postgres')
  })
  after(() => store.drop())

  test('takes a nonce of ours: people are told, and the step goes on under another one', async (t) => {
    const { sender, newErrand, wallet, ask, bury, alarms, landed } = await senderDesk(t, store)
    const one = await sender({ waitMs: 50, stuckAfterMs: 60_000 })
    assert.equal((await one.send(await newErrand(), callOf(1))).state, 'mined')
    const foreign = await wallet.signCall(callOf(2), 1, await FEES.current(), 84532)
    await ask('eth_sendRawTransaction', foreign.raw)
    const errand = await newErrand()
    assert.equal((await one.send(errand, callOf(3))).state, 'pending')
    assert.match(alarms.join(''), /hot key has sent what its journal does not know/)
    // Those after it are not held up.
    assert.equal((await one.send(await newErrand(), callOf(4))).state, 'mined')
    await bury()
    assert.equal(await newestState(one, errand), 'void')
    assert.equal((await landed()).length, 3)
  })

  test('whose transaction no node shows proves nothing: the step waits, and people are told', async (t) => {
    const { sender, newErrand, wallet, ask, bury, alarms, meddler } = await senderDesk(t, store)
    const one = await sender({ waitMs: 50, stuckAfterMs: 60_000 })
    assert.equal((await one.send(await newErrand(), callOf(1))).state, 'mined')
    await ask('eth_sendRawTransaction', (await wallet.signCall(callOf(2), 1, await FEES.current(), 84532)).raw)
    // A node that keeps no old states, as full nodes do.
    meddler.meddle('eth_getTransactionCount', ([, tag], askNode) => {
      if (tag === 'latest') return askNode()
      throw new Refused({ code: -32000, message: 'missing trie node' })
    })
    const errand = await newErrand()
    for (let look = 0; look < 3; look++) {
      const state = look === 0 ? (await one.send(errand, callOf(3))).state : await newestState(one, errand)
      assert.equal(state, 'pending')
      await bury()
    }
    assert.match(alarms.join(''), /no node shows what for.*keeps older states/)
  })

  test('or a node that makes one up, is believed only when the second node shows it too', async (t) => {
    const { sender, newErrand, ask, bury, meddler, wallet, fault } = await senderDesk(t, store, { hasSecondNode: true })
    const one = await sender({ waitMs: 50, stuckAfterMs: 60_000 })
    await fault({ kind: 'stick' })
    const errand = await newErrand()
    assert.equal((await one.send(errand, callOf(1))).state, 'pending')
    await bury()
    // The first node says that the nonce is gone, and shows a block in which a stranger took it.
    meddler.meddle('eth_getTransactionCount', ([, tag], askNode) =>
      tag === 'latest' || Number(tag) >= 3 ? '0x1' : askNode(),
    )
    meddler.meddle('eth_getBlockByNumber', async (params, askNode) => {
      const block = (await askNode()) as { transactions: unknown[] }
      if (Number(params[0]) !== 3) return block
      const transactions = [{ hash: `0x${'9'.repeat(64)}`, from: wallet.address, nonce: '0x0' }]
      return { ...block, transactions }
    })
    meddler.meddle('eth_getTransactionByHash', () => ({ blockHash: `0x${'8'.repeat(64)}`, blockNumber: '0x3' }))
    for (let look = 0; look < 2; look++) {
      assert.equal(await newestState(one, errand), 'pending')
      await ask('evm_mine')
    }
  })
})

test('a shop whose settler’s key is used by a stranger goes on selling', async (t) => {
  const shop = await startShop({
    configure: (config) => ({ ...config, limits: { ...config.limits, receiptWaitMs: 300, waitMsMax: 700 } }),
  })
  t.after(() => shop.stop())
  const native = (method: string, ...params: unknown[]) => shop.chains.native.request({ method, params })
  const buyer = await fundedWallet(shop)
  const settler = createWallet(sandboxKey('settler'))
  for (let round = 0; round < 3; round++) {
    const nonce = Number(await native('eth_getTransactionCount', settler.address, 'latest'))
    const { raw } = await settler.signVoid(nonce, { maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 1n }, 84532)
    await native('eth_sendRawTransaction', raw)
    const { body } = await buy(shop, x402UnderTest, buyer)
    assert.equal((await ended(shop, 'x402', body.orderId)).status, 'confirmed')
  }
})
