import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { Hex } from 'viem'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { noWaypoint, type Waypoint, type WaypointName } from '../../src/base/waypoint.ts'
import { startWorker } from '../../src/checkout/worker.ts'
import { offerKey } from '../../src/domain/offer.ts'
import type { RailName } from '../../src/domain/rail.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { ended, movableClock, said, setLot, verdict } from './counter.ts'
import { type Answer, createMeddler, Refused } from './meddler.ts'
import { challengeOf, credentialOf, mppWallet, payingCall } from './mpp-wallet.ts'
import { encoded, paymentFor, requiredOf } from './x402-wallet.ts'

// Nobody knows whether the money moved. Until the chain has said so, and said it late enough, nothing is a 402 and nothing is handed over.

const TEMPO = 42431
const RARE = 75

const meddler = createMeddler()
let waypoint: Waypoint = noWaypoint
let shop: TestShop

/** Its chains share its clock. */
async function start(clock: Clock = systemClock): Promise<TestShop> {
  const started = await startShop({
    clock,
    wrapTransport: meddler.wrap,
    waypoint: (name) => waypoint(name),
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 150, leaseSeconds: 2 },
    }),
  })
  await setLot(started, RARE, { price: '0.25', supply: 1n })
  return started
}

const buyUrl = (rail: RailName, at = shop.url) => `${at}/agentic/${rail}/buy`
const credentialHeader = (rail: RailName, credential: string): Record<string, string> =>
  rail === 'x402' ? { 'payment-signature': credential } : { authorization: credential }

/** What the shop sends on one chain is taken and forgotten. */
function swallow(chainId: number): () => void {
  return meddler.meddle('eth_sendRawTransaction', (_params, ask, id) =>
    id === chainId ? `0x${'00'.repeat(32)}` : ask(),
  )
}

function onTempo(method: string, answer: Answer): () => void {
  return meddler.meddle(method, (params, ask, id) => (id === TEMPO ? answer(params, ask, id) : ask()))
}

const LONG_MS = 20 * 60_000

/** Time goes by, for the shop and for its chains. */
async function pass({ chains }: TestShop, clock: ReturnType<typeof movableClock>): Promise<void> {
  clock.move(LONG_MS)
  for (const chain of [chains.native, chains.tempo]) await chain.request({ method: 'evm_mine' })
}

describe('a payment that never lands', () => {
  const clock = movableClock()
  before(async () => {
    shop = await start(clock)
  })
  after(() => shop.stop())

  type Open = {
    readonly rail: RailName
    readonly body: object
    readonly credential: string
    readonly orderId: string
    again(): Promise<string>
  }

  async function leaveOpen(rail: RailUnderTest, saleId: number): Promise<Open> {
    const buyer = await fundedWallet(shop)
    const body = { saleId, beneficiary: buyer.address }
    const again = async () => rail.pay(shop, buyer, await fetch(buyUrl(rail.rail), post(body)))
    const credential = await again()
    const response = await fetch(buyUrl(rail.rail), post(body, credentialHeader(rail.rail, credential)))
    const { orderId, payment, retry, code } = await said(response)
    assert.deepEqual([response.status, code, payment.taken, retry.action], [202, 'payment_pending', 'unknown', 'poll'])
    assert.equal(response.headers.get('retry-after'), '2')
    // Only x402 has a word for a payment that is under way.
    const receipt = response.headers.get(rail.receiptHeader)
    const told = receipt && JSON.parse(Buffer.from(receipt, 'base64').toString()).errorReason
    assert.equal(told, rail.rail === 'x402' ? 'settlement_pending' : null)
    return { rail: rail.rail, body, credential, orderId, again }
  }

  const resend = ({ rail, body }: Open, credential: string) =>
    fetch(buyUrl(rail), post(body, credentialHeader(rail, credential)))

  test('M-14, M-27, F-04: stays open, blocks a second payment, and ends when the chain itself is past it', async (t) => {
    verifies('D6.5', 'D5.13')
    // Their bytes are kept from the chain for good.
    for (const chainId of [84532, TEMPO]) t.after(swallow(chainId))
    const [x402, pull] = [await leaveOpen(x402UnderTest, RARE), await leaveOpen(mppPullUnderTest, 392)]
    const all = [x402, pull]

    await t.test('the same payment again is answered 202 again', async () => {
      for (const one of all) assert.equal((await resend(one, one.credential)).status, 202)
    })

    await t.test('M-14: a second payment for the same request is not taken', async () => {
      await until(async () => {
        const { rows } = await shop.store.db.query<{ n: number }>(
          `select count(*)::int as n from orders where in_doubt and status = 'settling'`,
        )
        return rows[0]!.n === 2
      })
      // The rare lot is held by the first order: that it may have been paid for comes before that none is left.
      for (const one of all) {
        const second = await resend(one, await one.again())
        const answer = await said(second)
        assert.deepEqual([second.status, answer.code, answer.payment.taken], [409, 'settlement_in_doubt', false])
        assert.ok(answer.retry.statusUrl?.includes(one.orderId))
      }
    })

    await t.test('F-04: what it reserved cannot be sold to anybody else meanwhile', async () => {
      const other = await fundedWallet(shop)
      const body = { saleId: RARE, beneficiary: other.address }
      const payment = await paymentFor(other, requiredOf(await fetch(buyUrl('x402'), post(body))))
      const response = await fetch(buyUrl('x402'), post(body, { 'payment-signature': encoded(payment) }))
      assert.deepEqual(await verdict(response), [409, 'sold_out'])
    })

    await t.test('M-27: a replica whose clock is ahead gives up on nothing', async () => {
      const { checkout } = await shop.replica({ withoutWorker: true, clock: movableClock(LONG_MS) })
      for (const { orderId } of all) {
        const order = await checkout.orders.byId(orderId)
        const lease = { kind: 'order', key: orderId, lease: randomUUID() }
        const outcome = await checkout.offers.get(offerKey(order!))!.rail.settle({ ...order!, inDoubt: true }, lease)
        assert.equal(outcome.kind, 'unknown')
      }
    })

    await t.test('when both the chain and we are past it, it has expired, and what it held is free', async () => {
      await pass(shop, clock)
      for (const one of all) {
        const end = await ended(shop, one.rail, one.orderId)
        assert.equal(end.status, 'expired')
        const payment = await fetch(`${shop.url}/payments/${one.orderId}`)
        assert.equal((await said(payment)).payment.taken, false)
        const refused = await resend(one, one.credential)
        assert.deepEqual(await verdict(refused), [402, 'payment_expired'])
      }
      const { rows } = await shop.store.db.query<{ held: string }>(
        `select held from hold_totals where resource like '%:${RARE}'`,
      )
      assert.equal(rows[0]!.held, '0')
    })
  })
})

describe('a payment that lands late', () => {
  before(async () => {
    shop = await start()
  })
  after(() => shop.stop())

  test('M-14: after the process that sent it was gone, and refused by a node that is behind', async (t) => {
    const alone = await startAlone()
    t.after(() => alone.stop())
    const wallet = await mppWallet(alone)
    const body = { saleId: 392, beneficiary: wallet.address }
    const at = buyUrl('mpp', alone.url)
    const challenge = challengeOf(await fetch(at, post(body)))
    const raw = wallet.sign([payingCall(challenge)])
    const credential = credentialOf(challenge, { type: 'transaction', signature: raw })
    dieAt('order.opened', () => wallet.send(raw))
    assert.equal((await fetch(at, post(body, { authorization: credential }))).status, 202)
    const mends = [
      onTempo('eth_getTransactionReceipt', () => null),
      onTempo('eth_getLogs', () => []),
      onTempo('eth_sendRawTransaction', () => {
        throw new Refused({ code: -32003, message: 'transaction expired: current block timestamp' })
      }),
    ]
    const worker = startWorker(alone.service.checkout)
    t.after(() => worker.stop())
    const sends = () => meddler.seen('eth_sendRawTransaction').length
    const before = sends()
    await until(async () => sends() > before + 1)
    const { rows } = await alone.store.db.query<{ status: string }>('select status from orders')
    assert.deepEqual(rows, [{ status: 'settling' }])
    for (const mend of mends) mend()
    await until(async () => (await fetch(at, post(body, { authorization: credential }))).status === 200)
  })

  test('M-14: and an error of our own came between: a refusal of the second try proves nothing', async (t) => {
    const patient = await shop.replica({
      withoutWorker: true,
      configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 20_000, leaseSeconds: 1 } }),
    })
    const wallet = await mppWallet(shop)
    const body = { saleId: 392, beneficiary: wallet.address }
    const at = buyUrl('mpp', patient.url)
    const challenge = challengeOf(await fetch(at, post(body)))
    const raw = wallet.sign([payingCall(challenge)])
    const mends = [onTempo('eth_getTransactionReceipt', () => null), onTempo('eth_getLogs', () => [])]
    dieAt('settle.done', async () => {
      const refuse = onTempo('eth_sendRawTransaction', () => {
        throw new Refused({ code: -32003, message: 'transaction expired: current block timestamp' })
      })
      mends.push(refuse)
    })
    t.after(() => {
      for (const mend of mends) mend()
    })
    const credential = credentialOf(challenge, { type: 'transaction', signature: raw })
    const answer = fetch(at, post(body, { authorization: credential }))
    const sends = () => meddler.seen('eth_sendRawTransaction').filter(({ params }) => params[0] === raw).length
    await until(async () => sends() > 1)
    for (const mend of mends.splice(0)) mend()
    assert.equal((await answer).status, 200)
  })

  test('M-14: and a stranger sends a little under the same memo meanwhile', async () => {
    const [wallet, stranger] = [await mppWallet(shop), await mppWallet(shop)]
    const body = { saleId: 392, beneficiary: wallet.address }
    const challenge = challengeOf(await fetch(buyUrl('mpp'), post(body)))
    const raw = wallet.sign([payingCall(challenge)])
    const credential = credentialOf(challenge, { type: 'transaction', signature: raw })
    const keep = swallow(TEMPO)
    const response = await fetch(buyUrl('mpp'), post(body, { authorization: credential }))
    assert.equal(response.status, 202)
    await stranger.send(stranger.sign([payingCall(challenge, { amount: 1n })]))
    const looks = () => meddler.seen('eth_getLogs').length
    const before = looks()
    await until(async () => looks() > before + 1)
    keep()
    const end = await ended(shop, 'mpp', (await said(response)).orderId)
    assert.deepEqual([end.status, end.payer], ['confirmed', wallet.address])
  })
})

/** A shop whose orders move only while a request drives them. */
async function startAlone(): Promise<TestShop> {
  return startShop({
    withoutWorker: true,
    wrapTransport: meddler.wrap,
    waypoint: (name) => waypoint(name),
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 150, leaseSeconds: 1 },
    }),
  })
}

function dieAt(name: WaypointName, act: () => Promise<unknown>): void {
  waypoint = async (reached) => {
    if (reached !== name) return
    waypoint = noWaypoint
    await act()
    throw new Error('the process is gone')
  }
}

describe('M-16: a token that says yes and moves nothing', () => {
  // Whatever it is asked, it answers with one word: 0, or 1.
  const ANSWERS_0: Hex = '0x60206000f3'
  const ANSWERS_1: Hex = '0x600160005260206000f3'

  for (const [what, code, expected] of [
    ['and its authorization unused', ANSWERS_0, 402],
    ['and calls the authorization used', ANSWERS_1, 202],
  ] as const) {
    test(`nothing is handed over when the transaction succeeds ${what}`, async (t) => {
      const clock = movableClock()
      const odd = await start(clock)
      t.after(() => odd.stop())
      const buyer = await fundedWallet(odd)
      const body = { saleId: 392, beneficiary: buyer.address }
      const payment = await paymentFor(buyer, requiredOf(await fetch(buyUrl('x402', odd.url), post(body))))
      waypoint = async (reached) => {
        if (reached !== 'settle.begun') return
        waypoint = noWaypoint
        await odd.chains.native.request({ method: 'dev_setCode', params: [odd.config.x402!.asset, code] })
      }
      const response = await fetch(buyUrl('x402', odd.url), post(body, { 'payment-signature': encoded(payment) }))
      assert.equal(response.status, expected)
      if (expected === 402) return
      const { orderId } = await said(response)
      await pass(odd, clock)
      assert.equal((await ended(odd, 'x402', orderId)).status, 'expired')
    })
  }
})
