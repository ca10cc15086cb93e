import assert from 'node:assert/strict'
import { test } from 'node:test'
import { impatiently, LOT } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'

// The node of one chain was away for twenty minutes, and the shop went on selling on the other one. Now the node is back, and a replica starts.

for (const rail of [mppPullUnderTest, mppPushUnderTest])
  test(`E167: whoever was asked to pay by ${rail.name} buys, though a replica that starts meanwhile doubts the till of another rail that nobody could read`, async (t) => {
    const shop = await startShop({ withoutWorker: true })
    t.after(() => shop.stop())
    const buyer = await fundedWallet(shop)
    const request = { ...LOT, beneficiary: buyer.address }
    const url = `${shop.url}/agentic/${rail.rail}/buy`
    const credential = await rail.pay(shop, buyer, await fetch(url, post(request)))
    const { network } = shop.config.x402!
    await shop.store.db.query(
      `update tills set alive_at = now() - interval '20 minutes' where id like lower($1) || '/%'`,
      [network],
    )
    await shop.replica({ configure: impatiently })
    const answer = await fetch(url, post(request, { [rail.header]: credential }))
    const { detail } = (await answer.json()) as { detail?: string }
    assert.deepEqual([answer.status, detail], [200, undefined])
  })
