import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMeddler } from '../../checkout/meddler.ts'
import { LOT_PRICE, payFor, reconcileRail, TOMORROW } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPushUnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'

// A shop that was never open asks to be paid while its node is silent: nothing is sold yet, and whoever pushes their money sends it all the same.

for (const [title, ago, kept, aheadSeconds] of [
  [
    'E84: money that was pushed before anybody could read the chain is found, though nobody presents it',
    '0 seconds',
    'orphaned',
    0,
  ],
  ['E89: it is found when the node was silent for hours, too, and waits for a person', '3 hours', 'held', 0],
  ["E97: it is found when our clocks are two minutes ahead of the chain's, too", '0 seconds', 'orphaned', 120],
] as const)
  test(title, async (t) => {
    let isSilent = true
    const { wrap, meddle } = createMeddler()
    meddle('eth_getBlockByNumber', async (_params, ask) => {
      const block = (await ask()) as { readonly timestamp: string } | null
      return block && { ...block, timestamp: `0x${(Number(block.timestamp) - aheadSeconds).toString(16)}` }
    })
    const shop = await startShop({
      withoutWorker: true,
      wrapTransport: (chainId, transport) => async (request, max) => {
        if (isSilent && chainId === 42431) throw new Error('nobody answers')
        return wrap(chainId, transport)(request, max)
      },
    })
    t.after(() => shop.stop())
    const rail = mppPushUnderTest
    const before = await rail.till(shop)
    await payFor(shop, rail, await fundedWallet(shop))
    assert.equal((await rail.till(shop)) - before, LOT_PRICE)
    await shop.store.db.query('update shop_terms set first_used = first_used - $1::interval', [ago])
    isSilent = false
    await until(async () => !(await shop.service.checkout.isInDoubt()))
    const { items, difference } = await reconcileRail(shop, rail, TOMORROW)
    assert.deepEqual([items.map(({ kind, amount }) => [kind, amount]), difference], [[[kept, LOT_PRICE]], LOT_PRICE])
  })
