import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import type { WaypointName } from '../../src/base/waypoint.ts'
import {
  accelerateOf,
  burnOf,
  type Crafter,
  crafterAtWork,
  finalStatus,
  newCrafter,
  PRICE,
  readyCrafter,
  TOKEN,
} from '../craft/workshop.ts'
import { mppPullUnderTest } from '../support/credentials.ts'
import { erc20Balance, nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'

// Every status that the MPP craft routes list, each brought about, with the stock mppx client.

let shop: TestShop
/** The shop's clock goes ahead by this much, so that nobody has to wait until the time for an answer is up. */
let aheadMs = 0
let isSlowAt: WaypointName | null = null
before(async () => {
  shop = await startShop({
    clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
    configure: (config) => ({ ...config, limits: { ...config.limits, receiptWaitMs: 100 } }),
    async waypoint(name) {
      if (name !== isSlowAt) return
      isSlowAt = null
      aheadMs += shop.config.limits.waitMsMax
    },
  })
})
after(() => shop.stop())

type Answer = { readonly code?: string; readonly paymentTx?: string; readonly statusUrl?: string }

async function answer(response: Response): Promise<[number, string | undefined, Answer]> {
  assert.equal(response.headers.get('content-type'), 'application/json')
  const body = (await response.json()) as Answer
  return [response.status, body.code, body]
}

/** The chain takes the next transaction to the controller, and makes no block with it until it is let go. */
const holdBack = () =>
  shop.chains.native.request({
    method: 'dev_fault',
    params: [{ kind: 'stick', to: shop.world.contracts.craftController }],
  })
const letGo = () => shop.chains.native.request({ method: 'dev_clearFaults' })

const actions = {
  burn: { ready: () => readyCrafter(shop), request: (crafter: Crafter) => burnOf(crafter, crafter.nfts.slice(-1)) },
  accelerate: { ready: () => crafterAtWork(shop), request: (crafter: Crafter) => accelerateOf(crafter, TOKEN) },
} as const

for (const [name, { ready, request }] of Object.entries(actions)) {
  describe(`POST /craft/mpp/${name}`, () => {
    const url = () => `${shop.url}/craft/mpp/${name}`

    test('402 without a credential; 200 for the same body with Authorization: Payment; it costs 0.001 USD', async () => {
      verifies('4.0', '4.3.1', '4.3.4', '4.3.5', '4.3.9', '4.3.10', '5.2.1', '7.2', '8.2')
      const crafter = await ready()
      const body = request(crafter)
      const unpaid = await fetch(url(), body)
      const challenge = unpaid.headers.get('www-authenticate')!
      assert.match(challenge, /^Payment /)
      const credential = await mppPullUnderTest.pay(shop, crafter.account, unpaid.clone())
      assert.deepEqual((await answer(unpaid)).slice(0, 2), [402, 'payment_required'])
      assert.match(credential, /^Payment [\w-]+$/)
      const paidWith = (init: RequestInit) =>
        fetch(url(), { ...init, headers: { ...(init.headers as Record<string, string>), authorization: credential } })
      const before = await mppPullUnderTest.till(shop)
      // Another body than the one that was priced buys nothing.
      const other = name === 'burn' ? burnOf(crafter, crafter.nfts.slice(1)) : accelerateOf(crafter, 2n * TOKEN)
      assert.deepEqual((await answer(await paidWith(other))).slice(0, 2), [402, 'request_body_mismatch'])
      assert.equal(await mppPullUnderTest.till(shop), before)
      assert.equal((await answer(await paidWith(body)))[0], 200)
      assert.equal((await mppPullUnderTest.till(shop)) - before, PRICE)
    })

    test('202 while it still moves, and its status is 202 until it has ended', async () => {
      verifies('3.1', '4.3.4', '4.3.5', '4.3.6', '7.4')
      const crafter = await ready()
      await holdBack()
      isSlowAt = 'order.submitted'
      const [status, code, { statusUrl }] = await answer(await crafter.pay.mpp(url(), request(crafter)))
      assert.deepEqual([status, code], [202, 'action_pending'])
      assert.equal((await fetch(statusUrl!)).status, 202)
      await letGo()
      assert.equal(((await finalStatus(statusUrl!)) as { status: string }).status, 'confirmed')
    })

    test('403 for a payer who is not the user, and nothing is taken', async () => {
      verifies('4.3.4', '4.3.5', '7.3')
      const [user, stranger] = [await ready(), await newCrafter(shop)]
      const before = await mppPullUnderTest.till(shop)
      const refused = await answer(await stranger.pay.mpp(url(), request(user)))
      assert.deepEqual(refused.slice(0, 2), [403, 'payer_not_user'])
      assert.equal(await mppPullUnderTest.till(shop), before)
    })

    test('409 for what is not approved, or has no timer, and nothing is taken', async () => {
      verifies('4.3.4', '4.3.5', '7.3')
      const crafter = await newCrafter(shop)
      const before = await mppPullUnderTest.till(shop)
      const [status] = await answer(await crafter.pay.mpp(url(), request(crafter)))
      assert.equal(status, 409)
      assert.equal(await mppPullUnderTest.till(shop), before)
    })
  })
}

test('an action is found by its payment transaction, by anybody; 404 for a payment that was never made here', async () => {
  verifies('1.6', '2.7.1', '3.1', '4.3.6', '5.3', '7.6')
  const crafter = await readyCrafter(shop)
  const burned = await crafter.pay.mpp(`${shop.url}/craft/mpp/burn`, burnOf(crafter, crafter.nfts))
  const [, , { paymentTx }] = await answer(burned)
  const [status, , found] = await answer(await fetch(`${shop.url}/craft/mpp/actions/${paymentTx}`))
  assert.deepEqual([status, found.paymentTx], [200, paymentTx])
  const [unknown, code] = await answer(await fetch(`${shop.url}/craft/mpp/actions/0x${'00'.repeat(32)}`))
  assert.deepEqual([unknown, code], [404, 'payment_not_found'])
})

test('the quote is free, says beforehand what the paid route would say, and is 400 for what is neither variant', async () => {
  verifies('1.6', '2.5.1', '2.6.1', '2.6.5', '4.3.3', '4.3.11', '5.3', '7.5')
  const [ready, unready] = [await readyCrafter(shop), await newCrafter(shop)]
  const quote = (type: string, { body }: RequestInit) =>
    fetch(`${shop.url}/craft/mpp/quote`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type, ...JSON.parse(String(body)) }),
    })
  for (const [crafter, executable] of [
    [ready, true],
    [unready, false],
  ] as const) {
    const response = await quote('burn', burnOf(crafter, crafter.nfts))
    assert.equal(response.status, 200)
    assert.equal(((await response.json()) as { executable: boolean }).executable, executable)
  }
  assert.equal((await quote('accelerate', accelerateOf(ready, 1n))).status, 200)
  for (const [type, request] of [
    ['burn', accelerateOf(ready, 1n)],
    ['accelerate', burnOf(ready, ready.nfts)],
    ['mint', burnOf(ready, ready.nfts)],
  ] as const)
    assert.equal((await quote(type, request)).status, 400, type)
  for (const { contract, tokenId } of ready.nfts)
    assert.equal(await nftOwner(shop.chains.native, contract, tokenId), ready.address.toLowerCase())
})

test('on x402 the same requests burn and accelerate, for PAYMENT-SIGNATURE', async () => {
  verifies('1.5', '4.3.1', '4.3.7', '4.3.8', '8.2', 'D7.8')
  const crafter = await readyCrafter(shop)
  const burned = await crafter.pay.x402(`${shop.url}/craft/x402/burn`, burnOf(crafter, crafter.nfts))
  assert.equal(burned.status, 200)
  const { craftController, craftToken } = shop.world.contracts
  for (const { contract, tokenId } of crafter.nfts)
    assert.equal(await nftOwner(shop.chains.native, contract, tokenId), craftController.toLowerCase())
  const before = await erc20Balance(shop.chains.native, craftToken, crafter.address)
  const accelerated = await crafter.pay.x402(`${shop.url}/craft/x402/accelerate`, accelerateOf(crafter, TOKEN))
  assert.equal(accelerated.status, 200)
  assert.equal(before - (await erc20Balance(shop.chains.native, craftToken, crafter.address)), TOKEN)
})
