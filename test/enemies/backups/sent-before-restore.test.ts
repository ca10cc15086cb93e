import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Config } from '../../../src/config/config.ts'
import { movableClock, said, verdict } from '../../checkout/counter.ts'
import { LOT_PRICE } from '../../operations/desk.ts'
import { onAnotherNetwork } from '../../support/configured.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { BURIAL } from '../support/stepped-shop.ts'
import { forgetPurchase } from './forgotten-purchase.ts'

// An authorization was sent to the chain by a purchase that the store has forgotten. The chain has taken it back, and every node that had it may bring it again: whoever
// is told that nothing was taken, or asked to pay anew, pays twice.

const RETIRED = {
  x402: (config: Config): Config => ({ ...config, x402: null, retired: [{ rail: 'x402', config: config.x402! }] }),
  mpp: (config: Config): Config => ({ ...config, mpp: null, retired: [{ rail: 'mpp', config: config.mpp! }] }),
} as const

/** One chain plays both networks. */
const TIME_OVER_MS = 900_000

type Place = { readonly at?: 'x402' | 'mpp'; readonly configure?: (config: Config) => Config }

function shown(rail: RailUnderTest, where: string, { at, configure }: Place): void {
  test(`E147: of an authorization by ${rail.name} that was sent before a restore, and is shown ${where}, nobody says that it was not taken`, async (t) => {
    const { shop, open, bringAgain, showAgain } = await forgetPurchase(t, rail)
    const service = await open(configure)
    const till = await rail.till(shop)
    const answer = await showAgain(service, at)
    await bringAgain()
    assert.deepEqual(
      { taken: (await rail.till(shop)) - till, status: answer.status, isTaken: (await said(answer)).payment.taken },
      { taken: LOT_PRICE, status: 409, isTaken: 'unknown' },
    )
  })
}

for (const rail of [x402UnderTest, mppPullUnderTest]) {
  const at = rail.rail === 'x402' ? 'mpp' : 'x402'
  shown(rail, 'where it had bought', {})
  shown(rail, 'at the wrong address', { at })
  shown(rail, 'when its protocol was switched off', { at, configure: RETIRED[rail.rail] })
}
shown(x402UnderTest, 'when its protocol has moved to another network', { configure: onAnotherNetwork })

for (const rail of [x402UnderTest, mppPullUnderTest])
  test(`E147: when the time of such an authorization by ${rail.name} is over on the chain, its payer is asked anew`, async (t) => {
    const { chain, open, showAgain } = await forgetPurchase(t, rail)
    const clock = movableClock()
    const service = await open(undefined, clock)
    clock.move(TIME_OVER_MS)
    assert.deepEqual(
      await verdict(await showAgain(service)),
      [409, 'payment_conflict'],
      'the clock of the shop is not enough',
    )
    await chain.request({ method: 'evm_increaseTime', params: [TIME_OVER_MS / 1000] })
    for (let block = 0n; block < BURIAL.blocks; block++) await chain.request({ method: 'evm_mine' })
    assert.deepEqual(await verdict(await showAgain(service)), [402, 'payment_expired'])
  })
