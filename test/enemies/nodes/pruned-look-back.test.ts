import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { transfers } from '../../crash/flows.ts'
import { AT_ONCE, buy, reconcileRail, TOMORROW } from '../../operations/desk.ts'
import { mppStranger } from '../../operations/strangers.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPushUnderTest as rail } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

const AMOUNT = 700_000n
/** Only what is read once more every five minutes. */
const SELDOM = { ...AT_ONCE, rescanBlocks: 0n, lookBackBlocks: 100n }

// Not every node refuses to search blocks whose logs it has thrown away, or has yet to index: some say that there is nothing in them. What was found in
// them before is read once more by the look that goes further back, and by none after it.

async function startForgetful(t: TestContext) {
  const meddler = createMeddler()
  const shop = await startShop({ wrapTransport: meddler.wrap })
  t.after(() => shop.stop())
  return {
    shop,
    /** All that was read so far; and five minutes pass. */
    async forget() {
      const { rows } = await shop.store.db.query<{ checked: string }>(
        `update tills set created_at = now() - interval '5 minutes', alive_at = now() - interval '1 minute' where id like 'tempo%'
         returning checked_block as checked`,
      )
      const isForgotten = (block: string) => Number(block) <= Number(rows[0]!.checked)
      meddler.meddle('eth_getLogs', ([filter], ask) =>
        isForgotten((filter as unknown as { readonly fromBlock: string }).fromBlock) ? [] : ask(),
      )
    },
  }
}

async function missingIn({ store }: TestShop): Promise<readonly string[]> {
  const { rows } = await store.db.query<{ state: string }>('select state from missing_settlements')
  return rows.map(({ state }) => state)
}

test('E120: orphaned money goes back though the only node says of its block, when it is read once more, that nothing is in it', async (t) => {
  const { shop, forget } = await startForgetful(t)
  const stranger = await mppStranger(shop)
  await reconcileRail(shop, rail, TOMORROW)
  await stranger.give(AMOUNT)
  await reconcileRail(shop, rail, TOMORROW)
  await forget()
  await reconcileRail(shop, rail, SELDOM)
  await reconcileRail(shop, rail, SELDOM)
  assert.deepEqual(await transfers(shop, rail, demoAddressOf('treasury'), stranger.address), [AMOUNT])
})

test('E120: an order does not count as unpaid because the only node says of its block, when it is read once more, that nothing is in it', async (t) => {
  const { shop, forget } = await startForgetful(t)
  await reconcileRail(shop, rail, TOMORROW)
  await buy(shop, rail, await fundedWallet(shop))
  await reconcileRail(shop, rail, TOMORROW)
  await forget()
  await reconcileRail(shop, rail, SELDOM)
  assert.deepEqual(await missingIn(shop), [])
})
