import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Address } from '../../../src/base/address.ts'
import type { JsonObject } from '../../../src/base/json.ts'
import type { Config } from '../../../src/config/config.ts'
import type { DevChains } from '../../../src/devchain/chains.ts'
import type { RailName } from '../../../src/domain/rail.ts'
import type { Service } from '../../../src/service/service.ts'
import { ended, type Said, said, verdict } from '../../checkout/counter.ts'
import { preempt, type X402Payment } from '../../checkout/x402-wallet.ts'
import { paymentMeta } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { mppStranger } from '../../operations/strangers.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { answersAs, plainTransports, startChains, startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { verifies } from '../../support/verifies.ts'

// A shop that stops selling on a rail, a surface or a network has customers all the same: those who paid.

let shop: TestShop
before(async () => {
  shop = await startShop({
    // Paid, and then nobody goes on with it: as a shop that was stopped leaves it.
    withoutWorker: true,
    waypoint: (name) => {
      if (name === 'deliver.begun') throw new Error('the process ends here')
    },
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 200, leaseSeconds: 1 } }),
  })
})
after(() => shop.stop())

const buyUrl = (at: { readonly url: string }, rail: RailName) => `${at.url}/agentic/${rail}/buy`

/** An order that is paid and not delivered. */
async function openOrder(rail: RailUnderTest): Promise<Said> {
  const buyer = await fundedWallet(shop)
  const body = { saleId: 392, beneficiary: buyer.address }
  const credential = await rail.pay(shop, buyer, await fetch(buyUrl(shop, rail.rail), post(body)))
  const response = await fetch(buyUrl(shop, rail.rail), post(body, { [rail.header]: credential }))
  assert.equal(response.status, 202)
  return said(response)
}

const switchedOff = {
  x402: (config: Config): Config => ({ ...config, x402: null, retired: [{ rail: 'x402', config: config.x402! }] }),
  mpp: (config: Config): Config => ({ ...config, mpp: null, retired: [{ rail: 'mpp', config: config.mpp! }] }),
}

function open(configure: (config: Config) => Config): Promise<Service> {
  return shop.replica({ configure, withoutWorker: false, waypoint: () => {} })
}

const asOperator = (body: object) => {
  const { headers, ...rest } = post(body)
  return { ...rest, headers: { ...headers, authorization: `Bearer ${shop.config.operatorToken!.reveal()}` } }
}

describe('E11: a rail that is switched off', () => {
  for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
    test(`${rail.name}: finishes what it sold, tells of it, sends it back, and sells nothing`, async () => {
      verifies('D18.2')
      const { orderId } = await openOrder(rail)
      const retired = await open(switchedOff[rail.rail])
      assert.equal((await ended(retired, rail.rail, orderId)).status, 'confirmed')
      assert.equal((await fetch(`${retired.url}/payments/${orderId}`)).status, 200)
      const body = { saleId: 392, beneficiary: (await fundedWallet(shop)).address }
      assert.deepEqual(await verdict(await fetch(buyUrl(retired, rail.rail), post(body))), [404, 'route_not_found'])
      const catalog = (await (await fetch(`${retired.url}/catalog`)).json()) as { entries: { protocol: string }[] }
      assert.ok(catalog.entries.every(({ protocol }) => protocol !== rail.rail))
      const refund = asOperator({ reason: 'The rail is closed.', by: 'ada' })
      const refunded = await fetch(`${retired.url}/operator/orders/${orderId}/refund`, refund)
      assert.ok(refunded.status === 200 || refunded.status === 202, `answered ${refunded.status}`)
      await until(async () => (await ended(retired, rail.rail, orderId)).status === 'refunded')
      await retired.stop()
    })

  test('without its options: the shop does not open while an order is, and says which and what to do', async () => {
    const { orderId } = await openOrder(x402UnderTest)
    const without = (config: Config): Config => ({ ...config, x402: null })
    await assert.rejects(open(without), (error: Error) => {
      assert.match(error.message, /saleLot on x402 \(eip155:84532\)/)
      assert.match(error.message, /SUTLER_X402.*`sutler orders`/)
      return error.message.includes(orderId)
    })
    const retired = await open(switchedOff.x402)
    await ended(retired, 'x402', orderId)
    await retired.stop()
    // Nothing is open any more: it opens, and tells of what it can no longer move.
    const gone = await open(without)
    const told = await fetch(`${gone.url}/agentic/x402/purchases/${orderId}`)
    const { status, price } = (await told.json()) as { status: string; price: { currency: string } }
    assert.deepEqual([told.status, status, price.currency], [200, 'confirmed', 'USDC'])
    assert.equal((await fetch(`${gone.url}/payments/${orderId}`)).status, 200)
    const refund = asOperator({ reason: 'Sorry.', by: 'ada' })
    const answer = await verdict(await fetch(`${gone.url}/operator/orders/${orderId}/refund`, refund))
    assert.deepEqual(answer, [409, 'refund_refused'])
    await gone.stop()
  })
})

test('E11: a surface that is switched off finishes what it sold, tells of it, and sells nothing', async () => {
  verifies('D18.2')
  const { orderId } = await openOrder(x402UnderTest)
  const closed = await open((config) => ({ ...config, notSold: new Set(['sale', 'shop']) }))
  assert.equal((await ended(closed, 'x402', orderId)).status, 'confirmed')
  for (const path of ['/agentic/x402/buy', '/shop/mpp/buy'])
    assert.equal((await fetch(closed.url + path, post({}))).status, 404)
  const catalog = (await (await fetch(`${closed.url}/catalog`)).json()) as { entries: { surface: string }[] }
  assert.deepEqual([...new Set(catalog.entries.map(({ surface }) => surface))].sort(), ['craft', 'gateway'])
  for (const path of ['/openapi.json', '/llms.txt', '/.well-known/x402'])
    assert.equal((await fetch(closed.url + path)).status, 200, path)
  await closed.stop()
})

test('E11: money that was pushed before the rail was switched off, and is shown after it, is not denied', async () => {
  const buyer = await fundedWallet(shop)
  const body = { saleId: 392, beneficiary: buyer.address }
  const credential = await mppPushUnderTest.pay(shop, buyer, await fetch(buyUrl(shop, 'mpp'), post(body)))
  const { hash } = JSON.parse(Buffer.from(credential.slice('Payment '.length), 'base64url').toString()).payload
  const retired = await open(switchedOff.mpp)
  const answer = await fetch(buyUrl(retired, 'mpp'), post(body, { authorization: credential }))
  const { payment } = await said(answer)
  assert.deepEqual([answer.status, payment.taken], [404, 'unknown'])
  // First the chain alone shows it, then the books have it as well.
  await until(async () => (await said(await fetch(`${retired.url}/payments/${hash}`))).payment.taken === true)
  await retired.stop()
})

describe('E11: over MCP a payment that had bought nothing when its rail was switched off', () => {
  const tool = (at: { readonly url: string }, input: JsonObject, meta: JsonObject = {}) =>
    callTool(`${at.url}/mcp`, 'buy_sale_lot', input, { meta })

  for (const rail of [x402UnderTest, mppPullUnderTest])
    test(`by ${rail.name} is refused, and nothing was taken`, async () => {
      verifies('D18.2')
      const buyer = await fundedWallet(shop)
      const input = { saleId: 392, beneficiary: buyer.address }
      const meta = await paymentMeta(shop, rail.rail, buyer, await tool(shop, input))
      const till = await rail.till(shop)
      const retired = await open(switchedOff[rail.rail])
      const answer = JSON.stringify(await tool(retired, input, meta))
      assert.match(answer, /takes no payment by.*nothing was taken/)
      assert.equal(await rail.till(shop), till)
      await retired.stop()
    })

  test('and that has bought is not said to be free', async () => {
    const buyer = await fundedWallet(shop)
    const input = { saleId: 392, beneficiary: buyer.address }
    const meta = await paymentMeta(shop, 'x402', buyer, await tool(shop, input))
    await tool(shop, input, meta)
    const retired = await open(switchedOff.x402)
    const answer = JSON.stringify(await tool(retired, input, meta))
    assert.match(answer, /payment_misplaced/)
    assert.match(answer, /"taken":"unknown"/)
    await retired.stop()
  })

  test('and that somebody else has carried to the chain meanwhile is not said to be free', async () => {
    const buyer = await fundedWallet(shop)
    const input = { saleId: 392, beneficiary: buyer.address }
    const meta = await paymentMeta(shop, 'x402', buyer, await tool(shop, input))
    const retired = await open(switchedOff.x402)
    await preempt(shop, meta['x402/payment'] as unknown as X402Payment)
    const answer = JSON.stringify(await tool(retired, input, meta))
    assert.match(answer, /payment_misplaced/)
    assert.match(answer, /"taken":"unknown"/)
    await retired.stop()
  })
})

test('E11: money without a purchase is not forgotten with the options of its rail', async () => {
  const stranger = await mppStranger(shop)
  await stranger.give(50_000_000n)
  const retired = await open(switchedOff.mpp)
  const seen = async () =>
    (await shop.store.db.query<{ state: string; sender: string }>(`select state, sender from transfers`)).rows
  await until(async () => (await seen()).some(({ sender }) => sender.toLowerCase() === stranger.address.toLowerCase()))
  await retired.stop()
  await assert.rejects(
    open((config) => ({ ...config, mpp: null })),
    /SUTLER_MPP/,
  )
})

describe('E53: a rail that has moved to another network, when nothing was open on the earlier one', () => {
  const NEW = { x402: 8453, mpp: 4217 } as const
  const moved = (config: Config): Config => {
    const x402 = config.x402!
    const mpp = config.mpp!
    return {
      ...config,
      x402: { ...x402, network: `eip155:${NEW.x402}`, chain: { ...x402.chain, chainId: NEW.x402 } },
      mpp: { ...mpp, network: `tempo:${NEW.mpp}`, chain: { ...mpp.chain, chainId: NEW.mpp } },
    }
  }
  let earlier: TestShop
  let elsewhere: DevChains
  let later: Service
  before(async () => {
    earlier = await startShop()
    elsewhere = await startChains()
    later = await earlier.replica({
      configure: moved,
      transports: new Map([
        ...plainTransports(earlier.chains),
        answersAs(NEW.x402, elsewhere.native),
        answersAs(NEW.mpp, elsewhere.tempo),
      ]),
      withoutWorker: true,
    })
  })
  after(async () => {
    await earlier.stop()
    await elsewhere.close()
  })

  async function payment(rail: RailUnderTest) {
    const buyer = await fundedWallet(earlier)
    const body = { saleId: 392, beneficiary: buyer.address }
    const credential = await rail.pay(earlier, buyer, await fetch(buyUrl(earlier, rail.rail), post(body)))
    return post(body, { [rail.header]: credential })
  }

  // Of what its payer has sent nobody says that it is not there.
  for (const [rail, status] of [
    [x402UnderTest, 409],
    [mppPullUnderTest, 409],
    [mppPushUnderTest, 202],
  ] as const)
    test(`whoever repeats a payment by ${rail.name} that has bought is not asked to pay again`, async () => {
      const init = await payment(rail)
      const { orderId } = await said(await fetch(buyUrl(earlier, rail.rail), init))
      const again = await fetch(buyUrl(later, rail.rail), init)
      const { payment: told } = await said(again)
      assert.deepEqual([again.status, told.taken], [status, 'unknown'])
      assert.equal((await fetch(`${later.url}/payments/${orderId}`)).status, 200)
    })

  for (const rail of [x402UnderTest, mppPullUnderTest])
    test(`a payment by ${rail.name} that was signed for the earlier one buys nothing`, async () => {
      const till = await rail.till(earlier)
      const answer = await fetch(buyUrl(later, rail.rail), await payment(rail))
      assert.deepEqual([answer.status, (await said(answer)).payment.taken], [402, false])
      assert.equal(await rail.till(earlier), till)
    })
})

const OTHER: Address = '0x00000000000000000000000000000000000E0BC0'

test('E53: a shop does not open with another token while an order is open in the earlier one', async () => {
  const { orderId } = await openOrder(x402UnderTest)
  const { asset } = shop.config.x402!
  const inOther = (config: Config): Config => ({
    ...config,
    x402: { ...config.x402!, asset: OTHER, currency: 'OTHER' },
  })
  await assert.rejects(open(inOther), ({ message }: Error) => message.includes(`in ${asset}, such as ${orderId}`))
})
