import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Hex } from 'viem'
import { fromHex, toHex } from '../../../src/base/hex.ts'
import { keccak256 } from '../../../src/base/keccak.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { movableClock } from '../../checkout/counter.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop } from '../../support/shop.ts'
import { step, withChains } from '../support/stepped-shop.ts'

for (const { rail, chain, isOtherSilent, title } of [
  { rail: x402UnderTest, chain: 'native' as const },
  { rail: mppPullUnderTest, chain: 'tempo' as const },
].flatMap((one) => [
  { ...one, isOtherSilent: false, title: 'E62: the time of a payment is not over because one of two nodes says so' },
  { ...one, isOtherSilent: true, title: 'E70: nor while the other node is silent' },
]))
  test(`${title}, by ${rail.name}`, async (t) => {
    const clock = movableClock()
    let raw: Hex = '0x'
    let lies = false
    const kept =
      (transport: RpcTransport): RpcTransport =>
      async (request, max) => {
        if (request.method !== 'eth_sendRawTransaction') return transport(request, max)
        raw = request.params[0] as Hex
        return { jsonrpc: '2.0', id: request.id, result: toHex(keccak256(fromHex(raw))) }
      }
    const ahead =
      (transport: RpcTransport): RpcTransport =>
      async (request, max) => {
        const isBlock = request.method === 'eth_getBlockByNumber'
        const asked = lies && isBlock ? { ...request, params: ['latest', false] } : request
        const answer = (await transport(asked, max)) as { result: { number: string } }
        if (!lies || !isBlock) return answer
        const number =
          request.params[0] === 'latest' ? `0x${(Number(answer.result.number) + 12).toString(16)}` : request.params[0]
        const timestamp = `0x${Math.floor(clock.now() / 1000).toString(16)}`
        return { ...answer, result: { ...answer.result, number, timestamp } }
      }
    const other =
      (transport: RpcTransport): RpcTransport =>
      (request, max) =>
        lies && isOtherSilent ? Promise.reject(new Error('status 429')) : transport(request, max)
    const shop = await startShop({
      clock,
      withoutWorker: true,
      wrapTransport: (_chainId, transport) => [ahead(kept(transport)), other(kept(transport))],
      configure: (config) => {
        const limits = { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 300 }
        return withChains({ ...config, limits }, { burial: { blocks: 3n, ms: 0 } })
      },
    })
    t.after(() => shop.stop())
    const ask = (method: string, ...params: unknown[]) => shop.chains[chain].request({ method, params })
    const buyer = await fundedWallet(shop)
    const before = await rail.till(shop)
    const { body } = await buy(shop, rail, buyer)
    assert.equal(body.status, 'settling')
    clock.move(1_000_000)
    lies = true
    const { status } = await step(shop, body.orderId)
    // The chain goes on from where it stood, as a sequencer does that makes up for a pause.
    await ask('evm_increaseTime', -1_000)
    await ask('eth_sendRawTransaction', raw)
    const taken = (await rail.till(shop)) - before
    assert.deepEqual({ status, taken }, { status: 'settling', taken: 250_000n })
  })
