import assert from 'node:assert/strict'
import { test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../../src/base/hex.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { giveToken } from '../../../src/sandbox/world.ts'
import { refusePayment } from '../../../src/store/refusals.ts'
import { orderCount, said, verdict } from '../../checkout/counter.ts'
import { mppWallet } from '../../checkout/mpp-wallet.ts'
import { sendFrom } from '../../checkout/x402-wallet.ts'
import { transfer } from '../../operations/strangers.ts'
import { post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { engines, openStore } from '../../support/database.ts'
import { startShop } from '../../support/shop.ts'
import { verifies } from '../../support/verifies.ts'

// One payment, shown twice. The first call has passed every check and sleeps; the second is refused, because the wallet is empty at that
// moment, and whoever hears 402 pays anew. The first one wakes when the money is there again.

const FOR_FEES = 100_000n
const REST = privateKeyToAccount(`0x${'51'.repeat(32)}`).address

for (const rail of [x402UnderTest, mppPullUnderTest])
  test(`M-02: a payment by ${rail.name} that was answered 402 is not taken by a call that was slower`, async (t) => {
    verifies('D5.16')
    let waypoint: Waypoint = noWaypoint
    const shop = await startShop({ waypoint: (name) => waypoint(name) })
    t.after(() => shop.stop())
    const [asleep, wake] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    waypoint = async (name) => {
      if (name !== 'order.opening') return
      waypoint = noWaypoint
      asleep.resolve()
      await wake.promise
    }
    const wallet = await mppWallet(shop)
    const buyer = wallet.account
    const { x402, mpp } = shop.config
    const money = {
      x402: {
        spend: (data: Hex) => sendFrom(shop.chains.native, buyer, x402!.asset, data),
        earn: () => giveToken(shop.chains.native, x402!.asset, buyer.address, 10n ** 9n),
      },
      mpp: {
        spend: (data: Hex) => wallet.send(wallet.sign([{ to: mpp!.currency.address, data }])),
        earn: () => giveToken(shop.chains.tempo, mpp!.currency.address, buyer.address, 10n ** 9n),
      },
    }[rail.rail]
    const url = `${shop.url}/agentic/${rail.rail}/buy`
    const body = { saleId: 392, beneficiary: buyer.address }
    const unpaid = await fetch(url, post(body))
    const paid = post(body, { [rail.header]: await rail.pay(shop, buyer, unpaid.clone()) })
    const [till, orders] = [await rail.till(shop), await orderCount(shop)]

    const first = fetch(url, paid)
    await asleep.promise
    await money.spend(transfer(REST, (await rail.balance(shop, buyer.address)) - FOR_FEES))
    assert.deepEqual(await verdict(await fetch(url, paid)), [402, 'insufficient_funds'])
    await money.earn()
    wake.resolve()
    const late = await first
    const { code, payment } = await said(late)
    assert.deepEqual([late.status, code, payment.taken], [402, 'insufficient_funds', false])
    assert.deepEqual([await rail.till(shop), await orderCount(shop)], [till, orders])

    // Money that its payer sends all the same is not lost: what was refused is the authorization.
    if (rail.rail !== 'mpp') return
    const pushed = await mppPushUnderTest.pay(shop, buyer, unpaid)
    assert.equal((await fetch(url, post(body, { [rail.header]: pushed }))).status, 200)
  })

for (const engine of engines)
  test(`a refusal is kept for an hour, on the ${engine} engine`, async (t) => {
    const { db, drop } = await openStore(engine)
    t.after(drop)
    const refuse = (name: string, shownForDigest = 'one') =>
      refusePayment(db, { identities: [`x402:1/2/${name}`], shownForDigest, code: 'payment_expired' })
    const names = async () =>
      (
        await db.query<{ said: string }>(`select handle || ' ' || refused_for::text as said from payment_identities`)
      ).rows
        .map(({ said }) => said)
        .sort()
    await refuse('a')
    await refuse('b')
    await refuse('b', 'two')
    await refuse('b', 'two')
    assert.deepEqual(await names(), ['a {one}', 'b {one,two}'])
    await db.query(`update payment_identities set refused_at = now() - interval '61 minutes'`)
    await refuse('b', 'three')
    assert.deepEqual(await names(), ['b {one,two,three}'])
    await refuse('c')
    assert.deepEqual(await names(), ['c {one}'])
  })
