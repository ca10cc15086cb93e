import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { TRANSFER } from '../../../src/chain/eip3009.ts'
import { movableClock, said } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { preempt, sendFrom, type X402Payment } from '../../checkout/x402-wallet.ts'
import { AT_ONCE, buyUrl, LOT_PRICE, payFor, reconcileRail, TOMORROW } from '../../operations/desk.ts'
import { mppStranger, transfer, x402Stranger } from '../../operations/strangers.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { addressWord } from '../../support/hex-words.ts'
import { scriptedWaypoint } from '../../support/scripted-waypoint.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { verifies } from '../../support/verifies.ts'

// A payment is on the chain, and the store does not know it by its transaction: it was found by another name, or is not found yet.

const meddler = createMeddler()
const { waypoint, when } = scriptedWaypoint()

let shop: TestShop
before(async () => {
  shop = await startShop({ waypoint, wrapTransport: meddler.wrap, env: { SUTLER_RECONCILE_SECONDS: '300' } })
})
after(() => shop.stop())

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})
/** Until the test ends. */
const meddle = (...args: Parameters<typeof meddler.meddle>) => stops.push(meddler.meddle(...args))

/** Nothing is old enough to be judged. */

type Rail = typeof x402UnderTest
const surfaceOf = ({ rail }: Rail) => `/agentic/${rail}/purchases`
const addresses = (rail: Rail, name: string) => [`/payments/${name}`, `${surfaceOf(rail)}/${name}`]

/** Asks everywhere, and expects the same of each. */
async function assertTold(rail: Rail, name: string, expected: readonly [status: number, taken: boolean | 'unknown']) {
  for (const path of addresses(rail, name)) {
    const answer = await fetch(shop.url + path)
    const { payment, code, detail } = await said(answer)
    const taken = payment?.taken ?? (answer.status === 200 || 'unknown')
    assert.deepEqual([path, answer.status, taken], [path, ...expected], `${code} ${detail}`)
  }
}

/** The transaction in which this payer paid, as the chain shows it. */
async function paidIn({ rail }: Rail, payer: `0x${string}`): Promise<string> {
  const { x402, mpp } = shop.config
  const [chain, address, to] =
    rail === 'x402'
      ? [shop.chains.native, x402!.asset, x402!.payTo]
      : [shop.chains.tempo, mpp!.currency.address, mpp!.recipient]
  const filter = { address, fromBlock: '0x0', topics: [TRANSFER, addressWord(payer), addressWord(to)] }
  const [log] = (await chain.request({ method: 'eth_getLogs', params: [filter] })) as { transactionHash: string }[]
  return log!.transactionHash
}

/** A purchase that is held where its payment is on the chain, and its order is not told of it yet. */
async function heldPurchase(rail: Rail) {
  const buyer = await fundedWallet(shop)
  const { request, credential } = await payFor(shop, rail, buyer)
  const [settled, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  when('settle.done', () => {
    settled.resolve()
    return released.promise
  })
  // Of a test that fails, too: a shop does not stop while a purchase is held.
  stops.push(() => released.resolve())
  const answer = fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
  await settled.promise
  const goOn = async () => {
    released.resolve()
    assert.equal((await answer).status, 200)
  }
  return { transaction: await paidIn(rail, buyer.address), goOn }
}

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
  describe(`the transaction of a ${rail.name} payment whose order has not heard of it`, () => {
    test('is answered by that order, whatever the books were doing meanwhile; and bought once', async () => {
      verifies('D2.5', 'D6.4')
      const { transaction, goOn } = await heldPurchase(rail)
      await assertTold(rail, transaction, [202, 'unknown'])
      await reconcileRail(shop, rail, AT_ONCE)
      await assertTold(rail, transaction, [202, 'unknown'])
      await assertTold(rail, transaction.toUpperCase().replace('0X', '0x'), [202, 'unknown'])
      await goOn()
      await assertTold(rail, transaction, [200, true])
    })

    test('is not denied while the chain cannot be asked', async () => {
      verifies('D8.3')
      const { transaction } = await heldPurchase(rail)
      await reconcileRail(shop, rail, TOMORROW)
      for (const method of ['eth_getTransactionByHash', 'eth_getTransactionReceipt'])
        meddle(method, () => Promise.reject(new Error('silent')))
      await assertTold(rail, transaction, [202, 'unknown'])
    })
  })

test('the nonce of an authorization that a stranger has carried to the chain is not said to be not taken', async () => {
  verifies('D2.5', 'D6.4')
  const { credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
  const payment = JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment
  await preempt(shop, payment)
  await assertTold(x402UnderTest, payment.payload.authorization.nonce, [404, 'unknown'])
})

test('an authorization that was given up is not said to be over while anybody may still carry it to the chain', async () => {
  verifies('D2.5', 'D8.3')
  const buyer = await fundedWallet(shop)
  const { request, credential } = await payFor(shop, x402UnderTest, buyer)
  const { x402 } = shop.config
  const held = await x402UnderTest.balance(shop, buyer.address)
  when('settle.begun', async () => {
    await sendFrom(shop.chains.native, buyer, x402!.asset, transfer(x402!.asset, held))
  })
  const answer = await fetch(buyUrl(shop, x402UnderTest), post(request, { [x402UnderTest.header]: credential }))
  assert.equal(answer.status, 402)
  const { nonce } = (JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment).payload.authorization
  const told = async (url: string) => {
    const { payment, next } = (await (await fetch(`${url}/payments/${nonce}`)).json()) as {
      payment: { taken: unknown }
      next: { action: string; detail: string }
    }
    return [payment.taken, next.action, /could still land/.test(next.detail)]
  }
  assert.deepEqual(await told(shop.url), ['unknown', 'poll', true])
  const later = await shop.replica({ withoutWorker: true, clock: movableClock(3_600_000) })
  assert.deepEqual(await told(later.url), [false, 'new_payment', false])
})

describe('a transaction that no order is known by', () => {
  for (const [rail, come] of [
    [x402UnderTest, x402Stranger],
    [mppPushUnderTest, mppStranger],
  ] as const)
    test(`and that pays the shop on ${rail.rail} is not said to be not taken, before the books have it and after`, async () => {
      verifies('D8.3', 'D14.2')
      const transaction = await (await come(shop)).give(LOT_PRICE)
      await assertTold(rail, transaction, [202, 'unknown'])
      await reconcileRail(shop, rail, TOMORROW)
      await assertTold(rail, transaction, [409, true])
    })

  test('and that waits to be mined is not said to be not taken', async () => {
    const hash = `0x${'5e'.repeat(32)}`
    meddle('eth_getTransactionByHash', ([asked], ask) => (asked === hash ? { hash, blockHash: null } : ask()))
    await assertTold(mppPushUnderTest, hash, [202, 'unknown'])
  })

  test('is not known where every chain answers, and shows no payment to the shop in it', async () => {
    await fundedWallet(shop)
    const elsewhere = (await shop.chains.native.request({
      method: 'eth_getBlockByNumber',
      params: ['latest', false],
    })) as {
      transactions: string[]
    }
    for (const hash of [`0x${'7a'.repeat(32)}`, elsewhere.transactions[0]!])
      await assertTold(x402UnderTest, hash, [404, 'unknown'])
  })

  test('is looked for so often only, and then not denied', async () => {
    const now = systemClock.now()
    const { url } = await shop.replica({ withoutWorker: true, clock: { ...systemClock, now: () => now } })
    const asked = () => meddler.seen('eth_getTransactionByHash').length
    const before = asked()
    const told: number[] = []
    for (let name = 0; name < 100; name++) {
      told.push((await fetch(`${url}/payments/0x${name.toString(16).padStart(64, '0')}`)).status)
    }
    assert.equal(told.filter((status) => status === 404).length, 20)
    assert.equal(told.filter((status) => status === 202).length, 80)
    assert.equal(asked() - before, 20 * shop.service.operations.reconcileContext.accounts.length)
  })
})
