import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { noWaypoint, type Waypoint } from '../../src/base/waypoint.ts'
import type { Config } from '../../src/config/config.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { flows, nftsOf, transfers } from '../crash/flows.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'

// The shop stops while a payment is on its way, and opens again under another name or with another till. What was agreed before is judged
// by what was agreed: "nothing was taken" would be a lie, and its payer would pay again.

const changes: readonly { readonly what: string; readonly change: (config: Config) => Config }[] = [
  {
    what: 'another realm',
    change: (config) => ({ ...config, mpp: config.mpp && { ...config.mpp, realm: 'new.name' } }),
  },
  {
    what: 'another till',
    change: (config) => ({
      ...config,
      x402: config.x402 && { ...config.x402, payTo: demoAddressOf('demo') },
      mpp: config.mpp && { ...config.mpp, recipient: demoAddressOf('demo') },
    }),
  },
]

for (const { what, change } of changes) {
  describe(`I9: a shop that opens again with ${what}`, () => {
    let waypoint: Waypoint = noWaypoint
    let shop: TestShop
    before(async () => {
      shop = await startShop({
        env: { SUTLER_RATE_REPLAY: '1000' },
        waypoint: (name) => waypoint(name),
        withoutWorker: true,
        configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 400, leaseSeconds: 1 } }),
      })
    })
    after(() => shop.stop())

    for (const flow of flows.filter(({ ends }) => ends === 'delivered')) {
      test(`delivers what was paid before: ${flow.name}`, async () => {
        verifies('D18.1')
        const buyer = await fundedWallet(shop)
        const body = flow.body(buyer, undefined)
        const credential = await flow.rail.pay(shop, buyer, await fetch(shop.url + flow.path, post(body)))
        const init = post(body, { [flow.rail.header]: credential })
        // The money is on the chain, and nobody has seen it there yet.
        const died = Promise.withResolvers<void>()
        waypoint = (name) => {
          if (name !== 'settle.done') return
          died.resolve()
          throw new Error('the process is gone (injected)')
        }
        assert.equal((await fetch(shop.service.url + flow.path, init)).status, 202)
        await died.promise
        waypoint = noWaypoint

        const reopened = await shop.replica({ withoutWorker: false, configure: change })
        let answer = await fetch(reopened.url + flow.path, init)
        while (answer.status === 202) answer = await fetch(reopened.url + flow.path, init)
        const till = flow.rail.rail === 'x402' ? shop.config.x402!.payTo : shop.config.mpp!.recipient
        const paid = await transfers(shop, flow.rail, buyer.address, till)
        const tokens = await nftsOf(shop.chains, shop.config.game.sale!.contract, buyer.address)
        assert.deepEqual({ status: answer.status, paid, tokens }, { status: 200, paid: [flow.price], tokens: 2 })
        await reopened.stop()
      })
    }
  })
}
