import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Address } from '../../../src/base/address.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import type { Config, RetiredRail } from '../../../src/config/config.ts'
import type { Service } from '../../../src/service/service.ts'
import { buy, LOT_PRICE } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { step } from '../support/stepped-shop.ts'

// Another token on the same network: what was paid in the earlier one is on the chain, and nobody has seen it there yet.

const OTHER: Address = '0x00000000000000000000000000000000000E0BC0'

const inOther = {
  x402: (config: Config): Config => ({ ...config, x402: { ...config.x402!, asset: OTHER, currency: 'OTHER' } }),
  mpp: (config: Config): Config => ({
    ...config,
    mpp: { ...config.mpp!, currency: { address: OTHER, code: 'OTHER' } },
  }),
}

describe('E53: another token on the same network', () => {
  let shop: TestShop
  let waypoint: Waypoint = noWaypoint
  before(async () => {
    shop = await startShop({
      withoutWorker: true,
      waypoint: (name) => waypoint(name),
      configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 400, leaseSeconds: 1 } }),
    })
  })
  after(() => shop.stop())

  /** Paid, and nobody has written that down. */
  async function openOrder(rail: RailUnderTest): Promise<string> {
    const till = await rail.till(shop)
    // The answer may be quicker than the end.
    const died = Promise.withResolvers<void>()
    waypoint = (name) => {
      if (name !== 'settle.done') return
      died.resolve()
      throw new Error('the process is gone (injected)')
    }
    const { response, body } = await buy(shop, rail, await fundedWallet(shop))
    await died.promise
    waypoint = noWaypoint
    assert.equal(response.status, 202)
    assert.equal(await rail.till(shop), till + LOT_PRICE)
    return body.orderId
  }

  /** Until nothing is left to be done. */
  async function finish(service: Service, orderId: string): Promise<string> {
    for (let steps = 0; steps < 10; steps++) {
      const { status } = await step({ ...shop, service }, orderId)
      if (status === 'confirmed' || status === 'expired') return status
    }
    throw new Error(`order ${orderId} does not end`)
  }

  async function currencyTold(at: Pick<TestShop, 'url'>, { rail }: RailUnderTest, orderId: string): Promise<string> {
    const told = await fetch(`${at.url}/agentic/${rail}/purchases/${orderId}`)
    return ((await told.json()) as { price: { currency: string } }).price.currency
  }

  for (const rail of [x402UnderTest, mppPullUnderTest] as RailUnderTest[])
    test(`E53: a shop does not open with another token for ${rail.rail} while an order is open in the earlier one`, async () => {
      const orderId = await openOrder(rail)
      const { asset } = (await shop.service.checkout.orders.byId(orderId))!
      await assert.rejects(shop.replica({ configure: inOther[rail.rail] }), ({ message }: Error) => {
        assert.ok(message.includes(`in ${asset}, such as ${orderId}`), message)
        return /another token on the same network, open with the earlier one/.test(message)
      })
      assert.equal(await finish(shop.service, orderId), 'confirmed')
      const opened = await shop.replica({ configure: inOther[rail.rail] })
      assert.equal(await currencyTold(opened, rail, orderId), await currencyTold(shop, rail, orderId))
    })

  test('E53: a shop that keeps the earlier token beside the new one finishes in it what was paid in it', async () => {
    const orderId = await openOrder(x402UnderTest)
    const opened = await shop.replica({
      configure: (config) => {
        const earlier: RetiredRail = { rail: 'x402', config: config.x402! }
        return { ...inOther.x402(config), retired: [earlier] }
      },
    })
    assert.equal(await finish(opened, orderId), 'confirmed')
  })
})
