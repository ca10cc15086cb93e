import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { Problem } from '../../src/base/problem.ts'
import { noWaypoint, type Waypoint, type WaypointName } from '../../src/base/waypoint.ts'
import type { Database } from '../../src/store/db.ts'
import { nftsOf, transfers } from '../crash/flows.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { said } from './counter.ts'

// The store goes away. Before the order is written nothing is taken; from the commit on, nobody is told that nothing was.

const gone = () => new Problem('store_unavailable', 'The store cannot be reached (injected).')

let trouble: 'none' | 'before' | 'after' = 'none'
let waypoint: Waypoint = noWaypoint
let shop: TestShop

/** Refuses what it is asked, or loses its answer, while there is trouble. */
function troubled(database: Database): Database {
  const act = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (trouble === 'before') throw gone()
    const isLost = trouble === 'after'
    const result = await work()
    if (isLost) throw gone()
    return result
  }
  return {
    ...database,
    query: (sql, values) => act(() => database.query(sql, values)),
    transaction: (work, options) => act(() => database.transaction(work, options)),
  }
}

before(async () => {
  shop = await startShop({
    env: { SUTLER_RATE_REPLAY: '1000' },
    wrapDatabase: troubled,
    waypoint: (name) => waypoint(name),
    configure: (config) => ({ ...config, limits: { ...config.limits, leaseSeconds: 1, waitMsMax: 1_500 } }),
  })
})
after(() => shop.stop())

/** Resolves when it has happened, which may be after the caller had its answer. */
function when(name: WaypointName, act: () => void): Promise<void> {
  const happened = Promise.withResolvers<void>()
  waypoint = (reached) => {
    if (reached !== name) return
    waypoint = noWaypoint
    act()
    happened.resolve()
  }
  return happened.promise
}

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest]) {
  describe(rail.name, () => {
    const books = async ({ address }: PrivateKeyAccount) => ({
      paid: (await transfers(shop, rail, address, shop.config.x402!.payTo)).length,
      tokens: await nftsOf(shop.chains, shop.world.contracts.sale, address),
    })

    async function prepare() {
      const buyer = await fundedWallet(shop)
      const url = `${shop.url}/agentic/${rail.rail}/buy`
      const body = { saleId: 392, beneficiary: buyer.address }
      const credential = await rail.pay(shop, buyer, await fetch(url, post(body)))
      return { buyer, send: () => fetch(url, post(body, { [rail.header]: credential })) }
    }

    /** The same payment, again and again, until it is answered for good. */
    async function insist(send: () => Promise<Response>): Promise<Response> {
      let response = await send()
      await until(async () => {
        if (response.status !== 202 && response.status < 500) return true
        response = await send()
        return false
      })
      return response
    }

    test('before the payment is looked up: 503, or 202 for money that has moved; never that nothing was taken', async () => {
      verifies('D8.3')
      const { buyer, send } = await prepare()
      trouble = 'before'
      const response = await send()
      trouble = 'none'
      const { code, payment, retry } = await said(response)
      const refusal = rail.name === 'mpp push' ? [202, 'payment_pending'] : [503, 'store_unavailable']
      assert.deepEqual(
        [response.status, code, payment.taken, retry.action],
        [...refusal, 'unknown', 'wait_same_credential'],
      )
      assert.equal((await insist(send)).status, 200)
      assert.deepEqual(await books(buyer), { paid: 1, tokens: 1 })
    })

    for (const moment of ['before', 'after'] as const) {
      test(`C-15: ${moment} the order is written: 202, because nobody knows, and one purchase in the end`, async () => {
        const { buyer, send } = await prepare()
        const happened = when('order.opening', () => {
          trouble = moment
        })
        const response = await send()
        await happened
        trouble = 'none'
        const { payment, retry } = await said(response)
        assert.deepEqual([response.status, payment.taken], [202, 'unknown'])
        // The address to ask at goes by the payment's own name: an order's name might not exist.
        const asked = await fetch(retry.statusUrl!)
        assert.equal(asked.status, moment === 'before' ? 404 : asked.status === 200 ? 200 : 202)
        assert.equal((await insist(send)).status, 200)
        assert.equal((await fetch(retry.statusUrl!)).status, 200)
        assert.deepEqual(await books(buyer), { paid: 1, tokens: 1 })
      })
    }

    for (const point of ['order.opened', 'settle.done', 'order.settled', 'deliver.done', 'order.confirmed'] as const) {
      test(`after ${point}: never a 5xx, and one purchase in the end`, async () => {
        verifies('D5.1')
        const { buyer, send } = await prepare()
        const happened = when(point, () => {
          trouble = 'before'
        })
        const response = await send()
        await happened
        trouble = 'none'
        assert.ok(response.status === 202 || response.status === 200, `answered ${response.status}`)
        assert.equal((await insist(send)).status, 200)
        assert.deepEqual(await books(buyer), { paid: 1, tokens: 1 })
      })
    }
  })
}
