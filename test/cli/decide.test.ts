import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { type Studio, startStudio } from '../shop/studio.ts'
import { endOf, json, type ShopPurchase } from '../shop/support.ts'
import { fundedWallet, post, x402Payer } from '../support/buyers.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { sutler } from './sutler.ts'

let studio: Studio
let shop: TestShop
/** How long a request may still be on its way to the game. The first test is about that time, the others are after it. */
let requestLifeMs = 3_600_000

before(async () => {
  studio = await startStudio(privateKeyToAccount(generatePrivateKey()).address)
  shop = await startShop({
    env: { SUTLER_GAME_BACKEND: studio.url, SUTLER_GAME_BACKEND_SECRET: studio.secret.reveal() },
    configure: (config) => ({
      ...config,
      limits: {
        ...config.limits,
        get gameRequestLifeMs() {
          return requestLifeMs
        },
        waitMsMax: 500,
        delivery: { ...config.limits.delivery, retryMs: 20 },
      },
    }),
  })
  studio.fault = 'cannot_say'
})
after(async () => {
  await shop.stop()
  await studio.stop()
})

const decide = (orderId: string, word: string) =>
  sutler(['orders', 'decide', orderId, word, '--by', 'mara', '--url', shop.url])

async function doubtful() {
  const buyer = await fundedWallet(shop)
  const before = await x402UnderTest.balance(shop, buyer.address)
  const body = { itemId: 'gems:100', quantity: 2, nickname: 'Wren' }
  const asked = studio.calls.length
  const purchase = await json<ShopPurchase>(await x402Payer(buyer)(`${shop.url}/shop/x402/buy`, post(body)), 202)
  await until(() => studio.calls.slice(asked).some((call) => call.startsWith('POST /deliveries')))
  return { buyer, before, purchase }
}

test('F-06: an operator who saw the item ends the purchase as confirmed, but not while the request may still arrive', async () => {
  verifies('D17.4')
  const { purchase } = await doubtful()
  const early = await decide(purchase.orderId, 'delivered')
  assert.equal(early.code, 1)
  assert.match(early.stdout, /the request may still reach the game/)
  requestLifeMs = 0
  const decided = await decide(purchase.orderId, 'delivered')
  assert.equal(decided.code, 0, decided.stderr)
  const end = await endOf(shop, 'x402', purchase.orderId)
  assert.deepEqual([end.status, end.delivery.reference], ['confirmed', 'operator:mara'])
  const again = await decide(purchase.orderId, 'not-delivered')
  assert.equal(again.code, 1)
  assert.match(again.stdout, /is confirmed; there is no delivery of it to decide about/)
})

test('F-06: an operator who found nothing sends the money back', async () => {
  verifies('D17.4')
  const { buyer, before, purchase } = await doubtful()
  assert.equal((await decide(purchase.orderId, 'not-delivered')).code, 0)
  assert.equal((await endOf(shop, 'x402', purchase.orderId)).status, 'refunded')
  assert.equal(await x402UnderTest.balance(shop, buyer.address), before)
})
