import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { giveToken } from '../../src/sandbox/world.ts'
import { createGameCalls } from '../../src/store/game/calls.ts'
import { fundedWallet, mppPayer, post, x402Payer } from '../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { judgedCall } from '../support/judged-call.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { type Fault, type Studio, startStudio } from './studio.ts'
import { endOf, json, type Refusal, type ShopPurchase } from './support.ts'

// The shop against the sample backend of examples/, a process of its own, with faults on the wire between them.

let studio: Studio
let shop: TestShop
let owner: PrivateKeyAccount
let onCalled: (() => void | Promise<void>) | null = null
const alarms: Record<string, unknown>[] = []

before(async () => {
  owner = privateKeyToAccount(generatePrivateKey())
  studio = await startStudio(owner.address)
  shop = await startShop({
    env: { SUTLER_GAME_BACKEND: studio.url, SUTLER_GAME_BACKEND_SECRET: studio.secret.reveal() },
    log: createLog({ level: 'error', clock: systemClock, write: (line) => void alarms.push(JSON.parse(line)) }),
    configure: (config) => ({
      ...config,
      limits: {
        ...config.limits,
        gameTimeoutMs: 2_000,
        gameRequestLifeMs: 300,
        waitMsMax: 1_000,
        delivery: { ...config.limits.delivery, retryMs: 20 },
      },
    }),
    async waypoint(name) {
      if (name !== 'game.called') return
      const happens = onCalled
      onCalled = null
      await happens?.()
    },
  })
})
after(async () => {
  await shop.stop()
  await studio.stop()
})
afterEach(async () => {
  await studio.listenAgain()
  studio.fault = null
  onCalled = null
  // Whoever looked at the shop's health meanwhile found a backend that is down, and believes that for a while.
  await until(async () => (await fetch(url(), post(gems))).status === 402)
  alarms.length = 0
})

const url = () => `${shop.url}/shop/x402/buy`
const gems = { itemId: 'gems:100', quantity: 2, nickname: 'Wren' }
const buy = async (body: object = gems) => x402Payer(await fundedWallet(shop))(url(), post(body))

/** A purchase that is still moving when its request is answered is followed to its end. */
async function bought(response: Response): Promise<ShopPurchase> {
  const answer = (await response.json()) as ShopPurchase
  assert.ok([200, 202, 409].includes(response.status), JSON.stringify(answer))
  return endOf(shop, answer.protocol ?? 'x402', answer.orderId)
}
const given = (orderId: string | undefined) =>
  studio.deliveries().filter((delivery) => delivery.orderId.startsWith(orderId!))

/** The fault begins when the delivery is sent, after every check before the payment went well. */
function failDeliveryWith(fault: Fault): void {
  onCalled = () => {
    studio.fault = fault
  }
}

test('an item of a studio’s own backend is bought at the player’s own price, and stands in the studio’s ledger', async () => {
  const before = await x402UnderTest.till(shop)
  const purchase = await bought(await buy())
  assert.equal((await x402UnderTest.till(shop)) - before, 1_000_000n)
  assert.deepEqual(
    given(purchase.orderId).map(({ playerId, itemId, quantity }) => [playerId, itemId, quantity]),
    [['p-1', 'gems:100', 2]],
  )
  assert.match(purchase.delivery.reference ?? '', /^grant-\d+$/)
})

test('on MPP the payer’s player is found in the studio’s backend, for a purchase and for a lookup', async () => {
  const { currency } = shop.config.mpp!
  await giveToken(shop.chains.tempo, currency.address, owner.address, 100_000_000n)
  const pay = mppPayer(shop, owner, 'pull')
  const purchase = await bought(
    await pay(`${shop.url}/shop/mpp/buy`, post({ itemId: 'banner:1', payer: owner.address })),
  )
  assert.equal(given(purchase.orderId)[0]?.playerId, 'p-1')
  const found = await bought(await pay(`${shop.url}/shop/mpp/player-lookup`, { method: 'POST' }))
  assert.equal(found.player?.nickname, 'Wren')
  assert.equal(await mppPullUnderTest.till(shop), 120_000n)
})

for (const fault of ['down', 'error', 'unsigned'] as const) {
  test(`F-06: with a backend that is ${fault} nobody is asked to pay, and a payment is not taken`, async () => {
    const buyer = await fundedWallet(shop)
    const credential = await x402UnderTest.pay(shop, buyer, await fetch(url(), post(gems)))
    const before = await x402UnderTest.balance(shop, buyer.address)
    studio.fault = fault
    for (const headers of [{}, { 'payment-signature': credential }]) {
      const refusal = await json<Refusal>(await fetch(url(), post(gems, headers)), 503)
      assert.deepEqual([refusal.code, refusal.payment.taken], ['game_unavailable', false])
    }
    assert.equal((await fetch(`${shop.url}/shop/x402/offers?nickname=Wren`)).status, 503)
    assert.equal(await x402UnderTest.balance(shop, buyer.address), before)
    studio.fault = null
    const purchase = await bought(await fetch(url(), post(gems, { 'payment-signature': credential })))
    assert.equal(purchase.status, 'confirmed')
  })
}

for (const fault of ['answer_lost', 'slow', 'no_dedupe'] as const) {
  test(`F-06: delivered, but the answer is lost (${fault}): the game is asked, and delivers once`, async () => {
    verifies('D12.7')
    failDeliveryWith(fault)
    const purchase = await bought(await buy())
    assert.equal(purchase.status, 'confirmed')
    assert.equal(given(purchase.orderId).length, 1)
    const calls = studio.calls.slice(studio.calls.lastIndexOf('POST /deliveries'))
    const about = calls.filter((call) => call.includes('/deliveries'))
    assert.deepEqual(about, ['POST /deliveries', 'GET /deliveries/{orderId}'])
  })
}

for (const fault of ['wrong_player', 'wrong_quantity'] as const) {
  test(`F-06: an answer with the ${fault.replace('_', ' ')} is an alarm, and the money goes back`, async () => {
    const buyer = await fundedWallet(shop)
    const before = await x402UnderTest.balance(shop, buyer.address)
    failDeliveryWith(fault)
    assert.equal((await bought(await x402Payer(buyer)(url(), post(gems)))).status, 'refunded')
    assert.equal(await x402UnderTest.balance(shop, buyer.address), before)
    assert.ok(alarms.some(({ message }) => /delivered something else/.test(String(message))))
  })
}

test('F-06: with a backend that cannot say nothing is resent, an operator is called, and decides', async () => {
  failDeliveryWith('cannot_say')
  const first = studio.calls.length
  const moving = await json<ShopPurchase>(await buy(), 202)
  assert.equal(moving.code, 'action_pending')
  await until(() => alarms.some(({ code, orderId }) => code === 'delivery_unknown' && orderId === moving.orderId))
  assert.equal((await fetch(moving.statusUrl)).status, 202)

  const calls = createGameCalls(shop.store.db)
  assert.equal(await calls.decide(await judgedCall(calls, moving.orderId), 'delivered', 'maria'), true)
  await shop.store.db.query('update jobs set run_at = now() where key = $1', [moving.orderId])
  const end = await endOf(shop, 'x402', moving.orderId)
  assert.deepEqual([end.status, end.delivery.reference], ['confirmed', 'operator:maria'])
  assert.equal(given(moving.orderId).length, 1)
  assert.equal(studio.calls.slice(first).filter((call) => call === 'POST /deliveries').length, 1)
})
