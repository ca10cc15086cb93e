import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Config } from '../../../src/config/config.ts'
import { movableClock, said } from '../../checkout/counter.ts'
import { LOT_PRICE } from '../../operations/desk.ts'
import { onAnotherNetwork } from '../../support/configured.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { forgetPurchase } from './forgotten-purchase.ts'
import { startHearing } from './unreachable-chain.ts'

// E147, and the chain of the authorization itself does not answer: whoever cannot look says so with 503, which says by itself that nothing was taken.

const TIME_OVER_MS = 900_000

/** One chain plays both networks. */
type Circumstances = {
  readonly isDeaf?: boolean
  readonly configure?: (config: Config) => Config
  readonly laterMs?: number
}

/** What the payer of an authorization hears that a forgotten purchase has sent, when nobody can look for it; and what the chain takes by it afterwards. */
async function heard(t: TestContext, rail: RailUnderTest, { laterMs = 0, isDeaf = false, ...rest }: Circumstances) {
  const forgotten = await forgetPurchase(t, rail)
  const { shop, showAgain, bringAgain } = forgotten
  const clock = movableClock()
  const chain = rail.rail === 'mpp' ? 'tempo' : 'native'
  const { service, deafen } = await startHearing(forgotten, { chain, isDeaf, clock, ...rest })
  deafen()
  clock.move(laterMs)
  const till = await rail.till(shop)
  const answer = await showAgain(service)
  await bringAgain()
  const isAsked = answer.status === 402
  return { taken: (await rail.till(shop)) - till, isAsked, said: (await said(answer)).payment.taken }
}

const MAY_BE_TAKEN = { taken: LOT_PRICE, isAsked: false, said: 'unknown' }

for (const rail of [x402UnderTest, mppPullUnderTest]) {
  test(`E153: an authorization by ${rail.name} that was sent before a restore is not said to be free by a shop that cannot look for it`, async (t) => {
    assert.deepEqual(await heard(t, rail, {}), MAY_BE_TAKEN)
  })

  test(`E153: nor is one by ${rail.name} of which nobody can say whether its time is over`, async (t) => {
    assert.deepEqual(await heard(t, rail, { laterMs: TIME_OVER_MS }), MAY_BE_TAKEN)
  })
}

for (const isDeaf of [true, false])
  test(`E153: nor is one on a network that the shop has left, ${isDeaf ? 'before' : 'when'} the books were read`, async (t) => {
    assert.deepEqual(await heard(t, x402UnderTest, { isDeaf, configure: onAnotherNetwork }), MAY_BE_TAKEN)
  })
