import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Hex } from '../../../src/base/hex.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { ended, movableClock, orderCount, said } from '../../checkout/counter.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { callOf, senderDesk } from '../../support/sender-desk.ts'
import { startShop } from '../../support/shop.ts'

// Gas costs a hundred times as much for a few seconds. What is signed then may be more than the key has, for ever, and blocks all that is
// signed after it.

const BASE_FEE = 1_000_000n
const hex = (value: bigint): Hex => `0x${value.toString(16)}`

test('M-21: a spike between verification and signature delays the payment, and blocks nobody', async (t) => {
  const clock = movableClock()
  let waypoint: Waypoint = noWaypoint
  const shop = await startShop({
    clock,
    waypoint: (name) => waypoint(name),
    configure: (config) => ({ ...config, limits: { ...config.limits, receiptWaitMs: 200, waitMsMax: 500 } }),
  })
  t.after(() => shop.stop())
  const native = (method: string, ...params: unknown[]) => shop.chains.native.request({ method, params })
  /** Nobody remembers the last block for longer than two seconds. */
  const setBaseFee = async (fee: bigint) => {
    await native('dev_setBaseFee', hex(fee))
    clock.move(3_000)
  }
  const buyer = await fundedWallet(shop)
  // Enough for three settlements at the usual price, and for none at a hundred times that.
  await native('dev_setBalance', demoAddressOf('settler'), hex(10n ** 12n))
  waypoint = async (name) => {
    if (name !== 'settle.begun') return
    waypoint = noWaypoint
    await setBaseFee(100n * BASE_FEE)
  }
  const first = await buy(shop, x402UnderTest, buyer)
  assert.equal(first.response.status, 202)
  const orders = await orderCount(shop)
  const refused = await buy(shop, x402UnderTest, buyer)
  const { code, payment } = await said(refused.response)
  assert.deepEqual([refused.response.status, code, payment.taken], [503, 'relayer_unfunded', false])
  assert.equal(await orderCount(shop), orders)

  await setBaseFee(BASE_FEE)
  assert.equal((await ended(shop, 'x402', first.body.orderId)).status, 'confirmed')
  for (let next = 0; next < 2; next++) {
    const { response, body } = await buy(shop, x402UnderTest, buyer)
    assert.ok([200, 202].includes(response.status))
    assert.equal((await ended(shop, 'x402', body.orderId)).status, 'confirmed')
  }
})

describe('a key', () => {
  let store: TestStore
  before(async () => {
    store = await openStore('postgres')
  })
  after(() => store.drop())

  test('M-21: signs the same nonce again at today’s fees when its wallet can no longer pay what it offered', async (t) => {
    const { sender, newErrand, ask, fault, clear, wallet, sendOf, liveFees, landed } = await senderDesk(t, store)
    await ask('dev_setBaseFee', hex(100n * BASE_FEE))
    const dear = await sender({ fees: liveFees, waitMs: 30, stuckAfterMs: 60_000 })
    const errand = await newErrand()
    await fault({ kind: 'drop' })
    assert.equal((await dear.send(errand, callOf(1))).state, 'pending')
    // Gas is cheap again, and the wallet has just enough for that.
    await ask('dev_setBaseFee', hex(BASE_FEE))
    await ask('dev_setBalance', wallet.address, hex(30_000n * 2n * BASE_FEE))
    await clear()
    const fresh = await sender({ fees: { current: async () => cheap }, waitMs: 3_000 })
    assert.equal((await fresh.resume(errand)).state, 'mined')
    const [first, second] = (await sendOf(errand)).versions
    assert.ok(second!.fees.maxFeePerGas < first!.fees.maxFeePerGas)
    assert.equal((await landed()).length, 1)
  })

  const cheap = { maxFeePerGas: 2n * BASE_FEE, maxPriorityFeePerGas: 0n, baseFee: BASE_FEE }

  test('M-21: does so for whoever is in front, though nobody cares for it any more', async (t) => {
    const { sender, newErrand, ask, fault, clear, wallet, liveFees, landed } = await senderDesk(t, store)
    await ask('dev_setBaseFee', hex(100n * BASE_FEE))
    await fault({ kind: 'drop' })
    const dear = await sender({ fees: liveFees, waitMs: 30, stuckAfterMs: 60_000 })
    assert.equal((await dear.send(await newErrand(), callOf(1))).state, 'pending')
    await ask('dev_setBaseFee', hex(BASE_FEE))
    await ask('dev_setBalance', wallet.address, hex(4n * 30_000n * BASE_FEE))
    await clear()
    const next = await sender({ fees: { current: async () => cheap }, waitMs: 5_000 })
    assert.equal((await next.send(await newErrand(), callOf(2))).state, 'mined')
    assert.deepEqual(
      (await landed()).map(({ nonce }) => nonce),
      [0, 1],
    )
  })

  test('offers no more than its wallet has, and nothing at all below the base fee', async (t) => {
    const { sender, newErrand, ask, wallet, journal, sendOf, alarms, landed } = await senderDesk(t, store)
    const one = await sender({ fees: { current: async () => cheap } })
    const half = 30_000n * (BASE_FEE + BASE_FEE / 2n)
    await ask('dev_setBalance', wallet.address, hex(half))
    const errand = await newErrand()
    assert.equal((await one.send(errand, callOf(1))).state, 'mined')
    const [version] = (await sendOf(errand)).versions
    assert.equal(version!.fees.maxFeePerGas, BASE_FEE + BASE_FEE / 2n)

    await ask('dev_setBalance', wallet.address, hex(30_000n * BASE_FEE - 1n))
    await assert.rejects(one.send(await newErrand(), callOf(2)), { code: 'relayer_unfunded' })
    await assert.rejects(one.assertFunded(30_000n), { code: 'relayer_unfunded' })
    assert.match(alarms.join(''), new RegExp(`send at least \\d+ wei to ${wallet.address}`))
    assert.equal((await landed()).length, 1)
    assert.equal((await journal.between(84532, wallet.address, 1, 9)).length, 0, 'no nonce was taken')
  })
})
