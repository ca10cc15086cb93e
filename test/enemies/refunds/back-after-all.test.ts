import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/base/json.ts'
import type { Config } from '../../../src/config/config.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { movableClock, said, setLot } from '../../checkout/counter.ts'
import { nftsOf, transfers } from '../../crash/flows.ts'
import { paymentMeta } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { buyUrl, reconcileRail } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop, type TestShop } from '../../support/shop.ts'
import { buyByHand, step, withChains } from '../support/stepped-shop.ts'

// What a failed payment kept was sold to somebody else, and then the chain takes its failure back.

async function start(t: TestContext) {
  const clock = movableClock()
  const shop = await startShop({
    clock,
    withoutWorker: true,
    configure: (config) => {
      const limits = { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 300 }
      return withChains({ ...config, limits }, { burial: { blocks: 50n, ms: 0 } })
    },
  })
  t.after(() => shop.stop())
  return { shop, clock }
}

const CHAINS = [
  { rail: x402UnderTest, chain: 'native', tokenOf: ({ config }: TestShop) => config.x402!.asset },
  { rail: mppPullUnderTest, chain: 'tempo', tokenOf: ({ config }: TestShop) => config.mpp!.currency.address },
] as const

const switchedOff = {
  x402: (config: Config): Config => ({ ...config, x402: null, retired: [{ rail: 'x402', config: config.x402! }] }),
  mpp: (config: Config): Config => ({ ...config, mpp: null, retired: [{ rail: 'mpp', config: config.mpp! }] }),
}

for (const { rail, chain, tokenOf } of CHAINS)
  for (const isRetired of [false, true])
    for (const overMcp of [false, true])
      test(`F-04: by ${rail.name}${isRetired ? ', retired meanwhile' : ''}${overMcp ? ', over MCP' : ''}: it goes back, once, and its payer hears so`, async (t) => {
        const { shop } = await start(t)
        await setLot(shop, 777, { price: '0.25', supply: 1n })
        const ask = (method: string, ...params: unknown[]) => shop.chains[chain].request({ method, params })
        const [late, honest] = [await fundedWallet(shop), await fundedWallet(shop)]
        const input = { saleId: 777, beneficiary: late.address }
        const tool = (at: { readonly url: string }, meta: JsonObject = {}) =>
          callTool(`${at.url}/mcp`, 'buy_sale_lot', input, { meta })
        const meta = overMcp ? await paymentMeta(shop, rail.rail, late, await tool(shop)) : {}
        const credential = overMcp ? '' : await rail.pay(shop, late, await fetch(buyUrl(shop, rail), post(input)))
        const show = async (at: { readonly url: string }): Promise<string> => {
          if (overMcp) return JSON.stringify(await tool(at, meta))
          const answer = await fetch(`${at.url}/agentic/${rail.rail}/buy`, post(input, { [rail.header]: credential }))
          return `${answer.status} ${await answer.text()}`
        }
        await ask('dev_fault', { kind: 'revert', to: tokenOf(shop) })
        const first = await show(shop)
        assert.doesNotMatch(first, /nothing was taken|"taken":false|^402/)
        const orderId = /ord_[A-Za-z0-9]+/.exec(first)![0]
        const failedIn = Number(await ask('eth_blockNumber'))
        await buyByHand(shop, rail, honest, { saleId: 777 })
        const service = isRetired ? await shop.replica({ configure: switchedOff[rail.rail] }) : shop.service
        const at = { ...shop, service, url: service.url }
        assert.equal((await step(at, orderId)).status, 'settling')
        if (overMcp || !isRetired) assert.doesNotMatch(await show(at), /nothing was taken|"taken":false|^402/)
        const head = Number(await ask('eth_blockNumber'))
        await ask('dev_reorg', head - failedIn + 1)
        const seen: string[] = []
        for (let steps = 0; steps < 8; steps++) seen.push((await step(at, orderId)).status)
        assert.equal(seen.at(-1), 'refunded', seen.join())
        for (let look = 0; look < 2; look++) await reconcileRail(at, rail, { returnAfterSeconds: 0 })
        assert.deepEqual(await transfers(shop, rail, demoAddressOf('treasury'), late.address), [250_000n])
        const owned = [late, honest].map(({ address }) => nftsOf(shop.chains, shop.world.contracts.sale, address))
        assert.deepEqual(await Promise.all(owned), [0, 1])
        if (isRetired) {
          const told = await said(await fetch(`${service.url}/payments/${orderId}`))
          assert.equal(told.refund?.status, 'refunded')
        } else assert.match(await show(at), /sent back to the payer/)
      })
