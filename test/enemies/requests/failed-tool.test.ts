import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMeddler, Refused } from '../../checkout/meddler.ts'
import { preempt, type X402Payment } from '../../checkout/x402-wallet.ts'
import { paymentMeta } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { LOT, LOT_PRICE } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest as rail } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'

// Over HTTP a request that fails for want of anybody's foresight claims nothing of the payment that came with it (E104). Over MCP the payment is in the call.

test('E104: whoever pays over MCP what somebody else has carried to the chain does not hear that nothing was taken, because the shop fails', async (t) => {
  const meddler = createMeddler()
  const shop = await startShop({ wrapTransport: meddler.wrap })
  t.after(() => shop.stop())
  const mcp = `${shop.url}/mcp`
  const buyer = await fundedWallet(shop)
  const lot = { ...LOT, beneficiary: buyer.address }
  const meta = await paymentMeta(shop, 'x402', buyer, await callTool(mcp, 'buy_sale_lot', lot))
  const till = await rail.till(shop)
  await preempt(shop, meta['x402/payment'] as unknown as X402Payment)
  assert.equal((await rail.till(shop)) - till, LOT_PRICE)
  for (const method of ['eth_getBalance', 'eth_call'])
    meddler.meddle(method, () => {
      throw new Refused({ code: -32000, message: 'unheard of' })
    })
  const answer = JSON.stringify(await callTool(mcp, 'buy_sale_lot', lot, { meta }))
  assert.doesNotMatch(answer, /nothing was taken|"taken":false/i)
})
