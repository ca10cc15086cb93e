import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { providerTransport, type RpcTransport } from '../../src/chain/transport.ts'
import { setLot } from '../checkout/counter.ts'
import { nftsOf, rails, transfers } from '../crash/flows.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'

// The same payment twice, and the second call is slow: it looked for an order before there was one, and judges the payment after the
// first call has settled it. By then the authorization is used, the wallet empty and the lot sold out, and each of these would be a
// reason to say no. I9: whoever shows a payment that was taken hears of its order, and never of a 402.

const LOT = 77
const SUPPLY = 3
const PRICE = 750_000n

/** A gate in front of a chain: shut, it holds whoever asks. */
type Gate = { wrap(transport: RpcTransport): RpcTransport; shut(): Promise<void>; open(): void }

function createGate(): Gate {
  let opened = Promise.resolve()
  let open = () => {}
  let reached = () => {}
  return {
    wrap: (transport) => async (request) => {
      reached()
      await opened
      return transport(request)
    },
    /** Resolves when somebody stands before it. */
    shut() {
      ;({ promise: opened, resolve: open } = Promise.withResolvers<void>())
      const { promise, resolve } = Promise.withResolvers<void>()
      reached = resolve
      return promise
    },
    open: () => open(),
  }
}

for (const rail of rails) {
  describe(`M-02: two calls with one payment, the second judged when the first has ended, on ${rail.name}`, () => {
    const gate = createGate()
    let shop: TestShop
    let slow: string
    before(async () => {
      shop = await startShop()
      await setLot(shop, LOT, { price: '0.25', supply: BigInt(SUPPLY) })
      const { native, tempo } = shop.chains
      const transports = new Map(
        [native, tempo].map((chain) => [chain.chainId, gate.wrap(providerTransport(chain))] as const),
      )
      slow = (await shop.replica({ transports, withoutWorker: true })).url
    })
    after(() => shop.stop())

    test('both get the same answer', async () => {
      // Enough for one purchase, and not for two.
      const buyer = await fundedWallet(shop, 1n)
      const path = `/agentic/${rail.rail}/buy`
      const body = { saleId: LOT, quantity: SUPPLY, beneficiary: buyer.address }
      const credential = await rail.pay(shop, buyer, await fetch(slow + path, post(body)))
      const init = post(body, { [rail.header]: credential })

      const reached = gate.shut()
      const second = fetch(slow + path, init)
      await reached
      const first = await fetch(shop.service.url + path, init)
      assert.equal(first.status, 200)
      gate.open()

      const late = await second
      assert.equal(late.status, 200, await late.clone().text())
      assert.equal(await late.text(), await first.text())
      const till = rail.rail === 'x402' ? shop.config.x402!.payTo : shop.config.mpp!.recipient
      assert.deepEqual(await transfers(shop, rail, buyer.address, till), [PRICE])
      assert.equal(await nftsOf(shop.chains, shop.config.game.sale!.contract, buyer.address), SUPPLY)
    })
  })
}
