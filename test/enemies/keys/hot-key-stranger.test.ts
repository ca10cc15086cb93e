import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sandboxKey } from '../../../src/config/published.ts'
import { createWallet } from '../../../src/outbox/wallet.ts'
import { ended } from '../../checkout/counter.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { callOf, FEES, senderDesk } from '../../support/sender-desk.ts'
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
    await bury()
    assert.equal((await one.send(errand, callOf(3))).state, 'mined')
    assert.match(alarms.join(''), /hot key has sent what its journal does not know/)
    assert.equal((await landed()).length, 3)
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
    const { raw } = await settler.signCall(
      { to: settler.address, data: '0x', gas: 50_000n },
      nonce,
      { maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 1n },
      84532,
    )
    await native('eth_sendRawTransaction', raw)
    const { body } = await buy(shop, x402UnderTest, buyer)
    assert.equal((await ended(shop, 'x402', body.orderId)).status, 'confirmed')
  }
})
