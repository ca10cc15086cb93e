import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/base/json.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import type { Config, RetiredRail } from '../../../src/config/config.ts'
import type { DevChains } from '../../../src/devchain/chains.ts'
import type { Service } from '../../../src/service/service.ts'
import { orderCount, said } from '../../checkout/counter.ts'
import { preempt, type X402Payment } from '../../checkout/x402-wallet.ts'
import { paymentMeta } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { buy, buyUrl, LOT, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import {
  edited,
  mppPullUnderTest,
  mppPushUnderTest,
  type RailUnderTest,
  x402UnderTest,
} from '../../support/credentials.ts'
import {
  AS_FAR_AS_IT_CAN_MS,
  answersAs,
  plainTransports,
  startChains,
  startShop,
  type TestShop,
} from '../../support/shop.ts'

// The rails move to other networks, as `docs/operating/catalog.md` says. Whoever paid on the earlier one, heard 202 and sends the same request again,
// as they are told to, shows it at an address that takes payments of the new network by now.

const AUTHORIZATIONS: readonly RailUnderTest[] = [x402UnderTest, mppPullUnderTest]
const NEW = { x402: 8453, mpp: 4217 } as const

/** Other chains altogether, on which nothing of this shop has happened. */
function transportsTo(
  shop: TestShop,
  { native, tempo }: DevChains,
): ReadonlyMap<number, RpcTransport | readonly RpcTransport[]> {
  const plain = plainTransports(shop.chains)
  const { chainId } = shop.chains.native
  const former = plain.get(chainId) as RpcTransport
  const late: RpcTransport = async (request, max) =>
    hidesLogs && request.method === 'eth_getLogs'
      ? { jsonrpc: '2.0', id: request.id, result: [] }
      : former(request, max)
  return new Map([...plain, [chainId, late], answersAs(NEW.x402, native), answersAs(NEW.mpp, tempo)])
}

/** Does the earlier chain show its logs later than all else? */
let hidesLogs = false

function moved(config: Config): Config {
  const x402 = config.x402!
  const mpp = config.mpp!
  return {
    ...config,
    x402: { ...x402, network: `eip155:${NEW.x402}`, chain: { ...x402.chain, chainId: NEW.x402 } },
    mpp: { ...mpp, network: `tempo:${NEW.mpp}`, chain: { ...mpp.chain, chainId: NEW.mpp } },
  }
}

function earlierOf({ x402, mpp }: Config): readonly RetiredRail[] {
  return [
    { rail: 'x402', config: x402! },
    { rail: 'mpp', config: mpp! },
  ]
}

const at = ({ url }: Pick<Service, 'url'>, { rail }: RailUnderTest) => `${url}/agentic/${rail}/buy`

describe('E53: a rail that has moved to another network, and knows the earlier one', () => {
  let shop: TestShop
  let elsewhere: DevChains
  let service: Service
  before(async () => {
    shop = await startShop({
      withoutWorker: true,
      waypoint: (name) => {
        if (name === 'deliver.begun') throw new Error('the process ends here')
      },
      configure: (config) => ({
        ...config,
        limits: { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, leaseSeconds: 1 },
      }),
    })
    elsewhere = await startChains()
    service = await shop.replica({
      configure: (config) => ({ ...moved(config), retired: earlierOf(config) }),
      transports: transportsTo(shop, elsewhere),
    })
  })
  after(async () => {
    await shop.stop()
    await elsewhere.close()
  })

  const tool = ({ url }: Pick<Service, 'url'>, input: JsonObject, meta: JsonObject = {}) =>
    callTool(`${url}/mcp`, 'buy_sale_lot', input, { meta })

  for (const rail of AUTHORIZATIONS) {
    test(`E53: answers for what was paid there by ${rail.name}`, async () => {
      const till = await rail.till(shop)
      const buyer = await fundedWallet(shop)
      const { request, credential } = await payFor(shop, rail, buyer)
      const init = post(request, { [rail.header]: credential })
      const { orderId } = await said(await fetch(buyUrl(shop, rail), init))
      const again = await fetch(at(service, rail), init)
      assert.equal(again.status, 202)
      assert.equal((await said(again)).orderId, orderId)
      assert.equal(await rail.till(shop), till + LOT_PRICE)
      // Only to whoever asks the same thing.
      const other = post({ ...request, beneficiary: shop.config.x402!.payTo }, { [rail.header]: credential })
      assert.equal((await said(await fetch(at(service, rail), other))).code, 'payment_conflict')
    })

    test(`E53: answers for what was paid there by ${rail.name} over MCP`, async () => {
      const buyer = await fundedWallet(shop)
      const input = { ...LOT, beneficiary: buyer.address }
      const meta = await paymentMeta(shop, rail.rail, buyer, await tool(shop, input))
      const first = JSON.stringify(await tool(shop, input, meta))
      const [orderId] = /ord_\w+/.exec(first) ?? []
      assert.ok(orderId, first)
      const again = JSON.stringify(await tool(service, input, meta))
      assert.ok(again.includes(orderId), again)
      assert.doesNotMatch(again, /nothing was taken/)
    })

    test(`E53: refuses what was authorized there by ${rail.name} and bought nothing, and nobody takes it afterwards`, async () => {
      const [till, orders] = [await rail.till(shop), await orderCount(shop)]
      const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
      const init = post(request, { [rail.header]: credential })
      const refused = await said(await fetch(at(service, rail), init))
      assert.deepEqual([refused.code, refused.payment.taken], ['payment_misplaced', false])
      // This one has not heard of the change yet.
      const late = await fetch(buyUrl(shop, rail), init)
      assert.deepEqual([late.status, (await said(late)).code], [402, 'payment_misplaced'])
      assert.deepEqual([await rail.till(shop), await orderCount(shop)], [till, orders])
    })
  }

  test('E53: does not call free what somebody else has carried to the earlier chain', async () => {
    const { request, credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
    await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment)
    const answer = await fetch(at(service, x402UnderTest), post(request, { [x402UnderTest.header]: credential }))
    assert.deepEqual([answer.status, (await said(answer)).payment.taken], [409, true])
  })

  test('E53: does not deny, nor wait for, what was sent on the earlier chain and bought nothing', async () => {
    const { request, credential } = await payFor(shop, mppPushUnderTest, await fundedWallet(shop))
    const answer = await fetch(at(service, mppPushUnderTest), post(request, { [mppPushUnderTest.header]: credential }))
    const { code, payment } = await said(answer)
    assert.deepEqual([answer.status, code, payment.taken], [409, 'payment_returned', true])
  })

  test('E53: tells whoever rebuilt a payment from the earlier chain what that chain shows, and no more', async () => {
    const { request, credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
    await fetch(buyUrl(shop, x402UnderTest), post(request, { [x402UnderTest.header]: credential }))
    const rebuilt = edited(credential, (payment) => {
      const { accepted } = payment as unknown as { accepted: { extra: { claim?: string } } }
      delete accepted.extra.claim
    })
    const answer = await fetch(at(service, x402UnderTest), post(request, { [x402UnderTest.header]: rebuilt }))
    assert.deepEqual([answer.status, (await said(answer)).orderId], [202, undefined])
  })

  test('E53: looks at the right one of two earlier networks when it is switched off altogether', async () => {
    const buyer = await fundedWallet(shop)
    const input = { ...LOT, beneficiary: buyer.address }
    const meta = await paymentMeta(shop, 'x402', buyer, await tool(shop, input))
    const off = await shop.replica({
      configure: (config) => {
        const [first, second] = [earlierOf(moved(config))[0]!, earlierOf(config)[0]!]
        return { ...config, x402: null, retired: [first, second] }
      },
      transports: transportsTo(shop, elsewhere),
    })
    await preempt(shop, meta['x402/payment'] as unknown as X402Payment)
    const answer = JSON.stringify(await tool(off, input, meta))
    assert.match(answer, /on eip155:84532 any more/)
    assert.doesNotMatch(answer, /"taken":false/)
  })

  test('E53: answers for what was paid in another token, too', async () => {
    const { request, credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
    const init = post(request, { [x402UnderTest.header]: credential })
    const { orderId } = await said(await fetch(buyUrl(shop, x402UnderTest), init))
    const inOther = await shop.replica({
      configure: (config) => {
        const x402 = { ...config.x402!, asset: '0x00000000000000000000000000000000000E0BC0' } as const
        return { ...config, x402, retired: earlierOf(config).slice(0, 1) }
      },
    })
    const again = await fetch(at(inOther, x402UnderTest), init)
    assert.deepEqual([again.status, (await said(again)).orderId], [202, orderId])
  })

  test('E53: refuses what nobody can read, and does not fail', async () => {
    const { request, credential } = await payFor(shop, mppPullUnderTest, await fundedWallet(shop))
    const broken = edited(credential, ({ payload }) => {
      ;(payload as unknown as { signature: string }).signature = '0x76c0ffee'
    })
    const here = await fetch(buyUrl(shop, mppPullUnderTest), post(request, { authorization: broken }))
    const answer = await fetch(at(service, mppPullUnderTest), post(request, { authorization: broken }))
    assert.deepEqual([here.status, answer.status], [402, 402], await answer.text())
  })

  test('E53: does not call free what was carried to the earlier chain some thousand blocks ago', async () => {
    const till = await x402UnderTest.till(shop)
    const { request, credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
    await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment)
    for (let blocks = 0; blocks < 2_010; blocks++) await shop.chains.native.request({ method: 'evm_mine' })
    assert.equal(await x402UnderTest.till(shop), till + LOT_PRICE)
    const init = post(request, { [x402UnderTest.header]: credential })
    const answer = await fetch(at(service, x402UnderTest), init)
    const { payment } = await said(answer)
    const here = await fetch(buyUrl(shop, x402UnderTest), init)
    assert.deepEqual([answer.status, payment.taken, here.status], [409, 'unknown', 409])
  })

  test('E53: does not call free what was carried to the earlier chain a moment ago, and whose log is not there yet', async () => {
    const { request, credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
    await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment)
    hidesLogs = true
    const answer = await fetch(at(service, x402UnderTest), post(request, { [x402UnderTest.header]: credential }))
    hidesLogs = false
    assert.deepEqual([answer.status, (await said(answer)).payment.taken], [409, 'unknown'])
  })
})

describe('E53: a replica that knows nothing of the network that a payment is of', () => {
  let shop: TestShop
  let elsewhere: DevChains
  let stranger: Service
  before(async () => {
    shop = await startShop()
    elsewhere = await startChains()
    stranger = await shop.replica({ configure: moved, transports: transportsTo(shop, elsewhere), withoutWorker: true })
  })
  after(async () => {
    await shop.stop()
    await elsewhere.close()
  })

  for (const rail of AUTHORIZATIONS) {
    test(`E53: tells of what was bought there by ${rail.name}`, async () => {
      const buyer = await fundedWallet(shop)
      const { response, credential } = await buy(shop, rail, buyer)
      assert.equal(response.status, 200)
      const init = post({ ...LOT, beneficiary: buyer.address }, { [rail.header]: credential })
      const again = await fetch(at(stranger, rail), init)
      assert.equal(again.status, 200)
      assert.equal(await again.text(), await response.text())
    })

    test(`E53: refuses a payment by ${rail.name} for good, also where its network is known`, async () => {
      const [till, orders] = [await rail.till(shop), await orderCount(shop)]
      const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
      const init = post(request, { [rail.header]: credential })
      assert.equal((await fetch(at(stranger, rail), init)).status, 402)
      assert.equal((await fetch(buyUrl(shop, rail), init)).status, 402)
      assert.deepEqual([await rail.till(shop), await orderCount(shop)], [till, orders])
    })
  }

  test('E53: does not say of a payment that was given up there that it never landed, because it cannot look', async () => {
    const buyer = await fundedWallet(shop)
    const { body, credential } = await buy(shop, x402UnderTest, buyer)
    const failure = { code: 'payment_expired', detail: 'The payment never landed.' }
    await shop.store.db.query(`update orders set status = 'expired', failure = $2 where id = $1`, [
      body.orderId,
      failure,
    ])
    const init = post({ ...LOT, beneficiary: buyer.address }, { [x402UnderTest.header]: credential })
    const answer = await fetch(at(stranger, x402UnderTest), init)
    assert.deepEqual([answer.status, (await said(answer)).payment.taken], [409, 'unknown'])
  })
})
