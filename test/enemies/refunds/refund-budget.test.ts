import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orderCount, said } from '../../checkout/counter.ts'
import { challengeOf, credentialOf, mppWallet, payingCall } from '../../checkout/mpp-wallet.ts'
import { x402Stranger } from '../../operations/strangers.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'

// What may go back by itself is decided by the statement that begins it, and so are bounds that many reach at once.

const sum = async (shop: TestShop) =>
  (await shop.store.db.query<{ n: number }>('select count(*)::int as n from refunds')).rows[0]!.n

for (const rail of [x402UnderTest, mppPushUnderTest])
  test(`E6: ten orders that fail at the same moment do not use up the refunds of a day ten times (${rail.name})`, async () => {
    let arrived = 0
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const shop = await startShop({
      waypoint: async (name) => {
        if (name !== 'order.failed') return
        if (++arrived === 10) open()
        await gate
      },
      configure: (config) => ({ ...config, limits: { ...config.limits, refundsPerDay: 2_000_000n } }),
    })
    try {
      const url = `${shop.url}/shop/${rail.rail}/buy`
      const body = { itemId: 'keys:5', nickname: 'fail_delivery' }
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          const payer = await fundedWallet(shop)
          const credential = await rail.pay(shop, payer, await fetch(url, post(body)))
          await fetch(url, post(body, { [rail.header]: credential }))
        }),
      )
      await until(async () => {
        const { rows } = await shop.store.db.query(
          `select from orders o where o.status in ('failed', 'refunding') and not exists (
             select from jobs j where j.key = o.id and j.lease is null and j.run_at > now() + interval '10 minutes')`,
        )
        return rows.length === 0
      })
      assert.equal(await sum(shop), 1)
    } finally {
      await shop.stop()
    }
  })

test('E6: unmatched transfers that come together do not use up the refunds of a day one by one', async () => {
  const shop = await startShop({
    env: { SUTLER_RECONCILE_SECONDS: '1', SUTLER_RETURN_AFTER_SECONDS: '0' },
    configure: (config) => ({ ...config, limits: { ...config.limits, refundsPerDay: 1_000_000_000n } }),
  })
  try {
    for (let i = 0; i < 4; i++) await (await x402Stranger(shop)).give(600_000_000n)
    const states = async () =>
      (await shop.store.db.query<{ state: string }>('select state from transfers order by state')).rows.map(
        ({ state }) => state,
      )
    await until(async () => (await states()).filter((state) => state !== 'unmatched').length === 4)
    assert.deepEqual(await states(), ['held', 'held', 'held', 'returned'])
  } finally {
    await shop.stop()
  }
})

test('E2: a push of one unit under the right memo makes us send nothing back', async () => {
  const shop = await startShop()
  try {
    const wallet = await mppWallet(shop)
    const url = `${shop.url}/shop/mpp/buy`
    const body = { itemId: 'keys:5', nickname: 'Demo' }
    const challenge = challengeOf(await fetch(url, post(body)))
    const hash = await wallet.send(wallet.sign([payingCall(challenge, { amount: 1n })]))
    const answer = await fetch(url, post(body, { authorization: credentialOf(challenge, { type: 'hash', hash }) }))
    const { code, payment, refund } = await said(answer)
    assert.deepEqual([answer.status, code, payment.taken, refund], [409, 'payment_returned', true, null])
    assert.equal(await orderCount(shop), 0)
    // What was asked for still buys: nothing of the challenge is used up.
    const whole = await wallet.send(wallet.sign([payingCall(challenge)]))
    const paid = credentialOf(challenge, { type: 'hash', hash: whole })
    assert.equal((await fetch(url, post(body, { authorization: paid }))).status, 200)
    const { rows } = await shop.store.db.query(`select step from sends where step like 'refund%'`)
    assert.deepEqual(rows, [])
  } finally {
    await shop.stop()
  }
})
