import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/base/json.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { mppCredential } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { LOT, LOT_PRICE } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPushUnderTest as rail } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'

// Over HTTP, money that was pushed and is shown at a route of another protocol is answered with 409: nobody may hear that paying is safe.

async function startPushed(t: TestContext) {
  const shop = await startShop()
  t.after(() => shop.stop())
  const mcp = `${shop.url}/mcp`
  const buyer = await fundedWallet(shop)
  const till = await rail.till(shop)
  const asked = await callTool(mcp, 'buy_sale_lot', { ...LOT, beneficiary: buyer.address })
  const required = asked._meta['org.paymentauth/payment-required']
  const meta = { 'org.paymentauth/credential': await mppCredential(shop, buyer, required, 'push') }
  return {
    async show(tool: string, input: JsonObject) {
      const { content, _meta: answered } = await callTool(mcp, tool, input, { meta })
      const challenges = Object.keys(answered ?? {}).filter((key) => /x402|payment-required/.test(key))
      const isFree = /nothing was taken/i.test(JSON.stringify(content))
      return { taken: (await rail.till(shop)) - till, challenges, isFree }
    },
  }
}

const MOVED = { taken: LOT_PRICE, challenges: [], isFree: false }

test('E104: money that was pushed for one tool and is shown to one that takes it by another protocol is not said to be free', async (t) => {
  const { show } = await startPushed(t)
  assert.deepEqual(await show('check_payment_gateway', {}), MOVED)
})

test('E104: money that was pushed and is shown with other arguments is not said to be free', async (t) => {
  const { show } = await startPushed(t)
  assert.deepEqual(await show('buy_sale_lot', { ...LOT, beneficiary: demoAddressOf('treasury') }), MOVED)
})
