import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../../src/base/clock.ts'
import { movableClock, said } from '../../checkout/counter.ts'
import { encoded, paymentFor, requiredOf } from '../../checkout/x402-wallet.ts'
import { buyUrl, LOT } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { nativeCall } from '../../support/chain-reads.ts'
import { x402UnderTest as rail } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { letGo } from '../support/stepped-shop.ts'

// A replica's clock is set by its store every minute, or by a person. What waits then waits no longer for it.

/** No loop of the shop pauses for about as long. */
const PUT_BACK_MS = 17_000
const ANSWER_MS = 1_000

test('M-27: a payer whose payment does not land hears of it in time though the clock is put back meanwhile', async (t) => {
  const clock = movableClock()
  let isPutBack = false
  const waits: number[] = []
  const noting: Clock = {
    ...clock,
    sleep(ms, signal) {
      waits.push(ms)
      return clock.sleep(ms, signal)
    },
  }
  const shop = await startShop({
    clock: noting,
    withoutWorker: true,
    waypoint: async (name) => {
      if (name !== 'send.signed' || isPutBack) return
      isPutBack = true
      clock.move(-PUT_BACK_MS)
    },
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: ANSWER_MS, receiptWaitMs: 300 } }),
  })
  t.after(() => shop.stop())
  const buyer = await fundedWallet(shop)
  const request = { ...LOT, beneficiary: buyer.address }
  const url = buyUrl(shop, rail)
  const payment = await paymentFor(buyer, requiredOf(await fetch(url, post(request))))
  await nativeCall(shop, 'dev_fault', { kind: 'stick' })
  const answer = await fetch(url, post(request, { [rail.header]: encoded(payment) }))
  const { orderId } = await said(answer)
  assert.equal(answer.status, 202)
  assert.deepEqual(
    waits.filter((ms) => ms > PUT_BACK_MS - ANSWER_MS && ms <= PUT_BACK_MS + ANSWER_MS),
    [],
  )
  await letGo(shop, orderId)
})
