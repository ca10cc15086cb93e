import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/base/json.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import type { Config } from '../../../src/config/config.ts'
import { paymentMeta } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { plainTransports, startShop } from '../../support/shop.ts'

// E69 by the other rail: a transaction that its payer signed and somebody has sent. One node is a block behind, or hides it.

const switchedOff = (config: Config): Config => ({
  ...config,
  mpp: null,
  retired: [{ rail: 'mpp', config: config.mpp! }],
})

for (const [title, isOtherSilent] of [
  [
    'E75: a signed transaction that has landed is not called free because the first of two nodes does not show it',
    false,
  ],
  ['E75: nor while the other one is silent', true],
] as const)
  test(title, async (t) => {
    const shop = await startShop({ withoutWorker: true })
    t.after(() => shop.stop())
    const { tempo } = shop.chains
    const plain = plainTransports(shop.chains)
    const honest = plain.get(tempo.chainId) as RpcTransport
    const isReceipt = ({ method }: { readonly method: string }) => method === 'eth_getTransactionReceipt'
    const behind: RpcTransport = async (request, max) =>
      isReceipt(request) ? { jsonrpc: '2.0', id: request.id, result: null } : honest(request, max)
    const other: RpcTransport = async (request, max) => {
      if (isOtherSilent && isReceipt(request)) throw new Error('429')
      return honest(request, max)
    }
    const retired = await shop.replica({
      configure: switchedOff,
      transports: new Map([...plain, [tempo.chainId, [behind, other]]]),
    })
    const buyer = await fundedWallet(shop)
    const input = { saleId: 392, beneficiary: buyer.address }
    const tool = (url: string, meta: JsonObject = {}) => callTool(`${url}/mcp`, 'buy_sale_lot', input, { meta })
    const meta = await paymentMeta(shop, 'mpp', buyer, await tool(shop.url))
    const { payload } = meta['org.paymentauth/credential'] as { payload: { signature: string } }
    await tempo.request({ method: 'eth_sendRawTransaction', params: [payload.signature] })
    const answer = JSON.stringify(await tool(retired.url, meta))
    assert.equal(/"taken":false/.test(answer), false)
    assert.equal(/nothing was taken/.test(answer), false)
  })
