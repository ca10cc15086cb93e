import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop } from '../../support/shop.ts'

// The first node takes a payment and does not answer in time. The second one is asked, has no room, and says so.

test('M-17: a payment that one node may have taken is not free because the next one refuses it', async (t) => {
  let raw: unknown
  const shop = await startShop({
    withoutWorker: true,
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 300 },
    }),
    wrapTransport: (chainId, transport) => {
      if (chainId !== 42431) return transport
      const isSend = (method: string) => method === 'eth_sendRawTransaction'
      return [
        async (request, max) => {
          if (!isSend(request.method)) return transport(request, max)
          raw = request.params[0]
          throw new Error('no answer within 5000 ms')
        },
        async (request, max) =>
          isSend(request.method)
            ? { jsonrpc: '2.0', id: request.id, error: { code: -32000, message: 'txpool is full' } }
            : transport(request, max),
      ]
    },
  })
  t.after(() => shop.stop())
  assert.equal(shop.chains.tempo.chainId, 42431)
  const before = await mppPullUnderTest.till(shop)
  const { response } = await buy(shop, mppPullUnderTest, await fundedWallet(shop))
  await shop.chains.tempo.request({ method: 'eth_sendRawTransaction', params: [raw] })
  const taken = (await mppPullUnderTest.till(shop)) - before
  assert.deepEqual({ status: response.status, taken }, { status: 202, taken: 250_000n })
})
