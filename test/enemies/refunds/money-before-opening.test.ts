import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { LOT_PRICE, payFor, reconcileRail, TOMORROW } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPushUnderTest } from '../../support/credentials.ts'
import { plainTransports, startShop } from '../../support/shop.ts'

// Somebody was asked to pay by a shop of the version before, which did so while its node was silent and no till had ever been read, and pushed their money. Now a
// replica of this version looks at the till for the first time.

for (const [title, ago, kept, aheadSeconds] of [
  [
    'E30: money that was pushed before anybody could read the chain is found, though nobody presents it',
    '0 seconds',
    'unmatched',
    0,
  ],
  ['E30: it is found when the node was silent for hours, too', '3 hours', 'unmatched', 0],
  ["E30: it is found when our clocks are two minutes ahead of the chain's, too", '0 seconds', 'unmatched', 120],
] as const)
  test(title, async (t) => {
    const { wrap, meddle } = createMeddler()
    meddle('eth_getBlockByNumber', async (_params, ask) => {
      const block = (await ask()) as { readonly timestamp: string } | null
      return block && { ...block, timestamp: `0x${(Number(block.timestamp) - aheadSeconds).toString(16)}` }
    })
    const shop = await startShop({ withoutWorker: true })
    t.after(() => shop.stop())
    const rail = mppPushUnderTest
    const before = await rail.till(shop)
    await payFor(shop, rail, await fundedWallet(shop))
    assert.equal((await rail.till(shop)) - before, LOT_PRICE)
    await shop.store.db.query('delete from receiving_accounts')
    await shop.store.db.query('update shop_terms set first_used = first_used - $1::interval', [ago])
    const transports = [...plainTransports(shop.chains)].map(
      ([chainId, plain]) => [chainId, wrap(chainId, plain as RpcTransport)] as const,
    )
    const replica = await shop.replica({ transports: new Map(transports) })
    assert.equal(await replica.checkout.store.isKnown(), true)
    const { items, difference } = await reconcileRail(shop, rail, TOMORROW)
    assert.deepEqual([items.map(({ kind, amount }) => [kind, amount]), difference], [[[kept, LOT_PRICE]], LOT_PRICE])
  })
