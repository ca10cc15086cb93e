import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movableClock } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { AT_ONCE, reconcileRail } from '../../operations/desk.ts'
import { mppStranger, x402Stranger } from '../../operations/strangers.ts'
import { startShop } from '../../support/shop.ts'

// Money that cannot be judged is tried again, and in the end a person hears of it.

for (const [name, come] of [
  ['x402', x402Stranger],
  ['mpp', mppStranger],
] as const)
  test(`E30: money on ${name} that no node shows any more is not waited for without end: a person is told`, async (t) => {
    const clock = movableClock()
    const meddler = createMeddler()
    const shop = await startShop({ clock, withoutWorker: true, wrapTransport: meddler.wrap })
    t.after(() => shop.stop())
    const stranger = await come(shop)
    const hash = await stranger.give(1_000_000n)
    const show = meddler.meddle('eth_getTransactionReceipt', ([asked], ask) => (asked === hash ? null : ask()))
    const look = async () => {
      await reconcileRail(shop, stranger.rail, AT_ONCE)
      const { rows } = await shop.store.db.query<{ state: string }>(
        'select state from transfers where transaction = $1',
        [hash],
      )
      return rows[0]?.state
    }
    assert.deepEqual([await look(), await look()], ['unmatched', 'unmatched'])
    clock.move(86_400_000)
    assert.equal(await look(), 'held')
    show()
    assert.equal(await look(), 'held')
  })
