import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { movableClock, said } from '../../checkout/counter.ts'
import { asOperator, LOT, LOT_PRICE } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { BURIAL } from '../support/stepped-shop.ts'
import { forgetPurchase } from './forgotten-purchase.ts'

// E147 ends when the time of an authorization is over: then the chain is asked whether it came once more. Whoever is refused for another reason is not told before that.

const TIME_OVER_MS = 900_000

/** An authorization that a forgotten purchase had sent, that landed once more after the restore, and whose time is over. Nobody has kept the books since. */
async function startLate(t: TestContext, rail: RailUnderTest) {
  const forgotten = await forgetPurchase(t, rail)
  const { chain, open, shop, bringAgain } = forgotten
  const clock = movableClock()
  const service = await open(undefined, clock)
  const till = await rail.till(shop)
  await bringAgain()
  clock.move(TIME_OVER_MS)
  await chain.request({ method: 'evm_increaseTime', params: [TIME_OVER_MS / 1000] })
  for (let block = 0n; block < BURIAL.blocks; block++) await chain.request({ method: 'evm_mine' })
  assert.equal((await rail.till(shop)) - till, LOT_PRICE)
  return { ...forgotten, service }
}

type Late = Awaited<ReturnType<typeof startLate>>

const REASONS: Readonly<Record<string, (rail: RailUnderTest, late: Late) => Promise<Response>>> = {
  'at a shop that is paused': async (rail, { service, shop, showAgain }) => {
    const paused = await asOperator(
      { ...shop, url: service.url },
      `/operator/sales/${rail.rail}/pause`,
      post({ reason: 'x' }),
    )
    assert.equal(paused.status, 200)
    return showAgain(service)
  },
  'with a request that is no good': (rail, { service, buyer, credential }) =>
    fetch(
      `${service.url}/agentic/${rail.rail}/buy`,
      post({ ...LOT, quantity: 'x', beneficiary: buyer.address }, { [rail.header]: credential }),
    ),
}

for (const rail of [x402UnderTest, mppPullUnderTest])
  for (const [where, show] of Object.entries(REASONS))
    test(`E155: an authorization by ${rail.name} that landed once more after a restore is not said to be free when it is shown late ${where}`, async (t) => {
      const answer = await show(rail, await startLate(t, rail))
      assert.deepEqual([answer.status, (await said(answer)).payment.taken], [409, true])
    })
