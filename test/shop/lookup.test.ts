import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { playerLookupSchema } from '../../src/surfaces/shop/lookup.ts'
import { fundedWallet, mppPayer, post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { endOf, json, linkedBuyer, type Refusal } from './support.ts'

type Lookup = {
  readonly player: { playerId: string; nickname: string }
  readonly payer: string
  readonly paymentTx: string
  readonly orderId: string
}

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

const url = () => `${shop.url}/shop/mpp/player-lookup`

for (const mode of ['pull', 'push'] as const) {
  test(`A-01: a payer by ${mode} gets their own player, and only that one, for 0.02 dollars`, async () => {
    verifies('1.7', '4.1.5', '4.1.7', '8.4')
    const [mine] = await Promise.all([linkedBuyer(shop), linkedBuyer(shop)])
    const before = await mppPullUnderTest.till(shop)
    const found = await json<Lookup>(await mppPayer(shop, mine.account, mode)(url(), { method: 'POST' }), 200)
    assert.equal((await mppPullUnderTest.till(shop)) - before, 20_000n)
    assert.equal(found.payer, mine.account.address)
    const { playerId, ...player } = found.player
    // Nothing else: the payment may have been signed for another site, which hands it on and reads the answer.
    assert.deepEqual(player, { nickname: mine.nickname })
    assert.match(playerId, /^ply_\w{26}$/)
    assert.deepEqual(playerLookupSchema.parse(found), found)
  })
}

test('A-01: a payer without a player is told so, and nothing is taken', async () => {
  const stranger = await fundedWallet(shop)
  const before = await mppPullUnderTest.balance(shop, stranger.address)
  const refusal = await json<Refusal>(await mppPayer(shop, stranger, 'pull')(url(), post({})), 404)
  assert.deepEqual([refusal.code, refusal.payment.taken], ['player_not_linked', false])
  assert.equal(await mppPullUnderTest.balance(shop, stranger.address), before)
})

test('a pushed payment of a payer without a player is sent back', async () => {
  const stranger = await fundedWallet(shop)
  const before = await mppPushUnderTest.balance(shop, stranger.address)
  const { orderId } = await json<Refusal>(await mppPayer(shop, stranger, 'push')(url(), { method: 'POST' }), 409)
  assert.equal((await endOf(shop, 'mpp', orderId!)).status, 'refunded')
  assert.ok(before - (await mppPushUnderTest.balance(shop, stranger.address)) <= 100_000n)
})

test('the route has no parameters', async () => {
  verifies('4.1.5')
  assert.equal((await fetch(url(), { method: 'POST' })).status, 402)
  assert.equal((await fetch(url(), post({}))).status, 402)
  const refusal = await json<Refusal>(await fetch(url(), post({ nickname: 'Ada' })), 400)
  assert.equal(refusal.code, 'invalid_request')
})

test('A-05: the public status of a lookup never shows the player', async () => {
  const { account, nickname } = await linkedBuyer(shop)
  const found = await json<Lookup>(await mppPayer(shop, account, 'pull')(url(), { method: 'POST' }), 200)
  const status = `${shop.url}/shop/mpp/purchases`
  const seen = await (await fetch(`${status}/${found.paymentTx}`)).text()
  for (const secret of [nickname, found.player.playerId, found.orderId, 'level']) assert.ok(!seen.includes(secret))
  const recovery = await (await fetch(`${shop.url}/payments/${found.paymentTx}`)).text()
  for (const secret of [nickname, found.player.playerId, found.orderId]) assert.ok(!recovery.includes(secret))
  assert.equal((await json<Lookup>(await fetch(`${status}/${found.orderId}`), 200)).player.nickname, nickname)
})
