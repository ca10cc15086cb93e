import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { WaypointName } from '../../src/base/waypoint.ts'
import { shopPurchaseSchema } from '../../src/surfaces/shop/view.ts'
import { fundedWallet, mppPayer, post, x402Payer } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { addItem, endOf, json, ledger, linkedBuyer, type Refusal, type ShopPurchase, ways } from './support.ts'

const underTest = { x402: x402UnderTest, 'mpp pull': mppPullUnderTest, 'mpp push': mppPushUnderTest } as const

let shop: TestShop
/** What happens in the middle of the next purchase, once. */
let meanwhile: { readonly at: WaypointName; readonly act: () => Promise<void> } | null = null
before(async () => {
  shop = await startShop({
    async waypoint(name) {
      if (meanwhile?.at !== name) return
      const { act } = meanwhile
      meanwhile = null
      await act()
    },
  })
})
after(() => shop.stop())

for (const way of ways) {
  describe(`by ${way.name}`, () => {
    const rail = underTest[way.name as keyof typeof underTest]
    const url = () => `${shop.url}/shop/${way.rail}/buy`

    test('an item goes to the player with a nickname, at the list price, and the money is on the chain', async () => {
      verifies('1.3', '2.2.3', '4.1.2', '4.1.4')
      const buyer = await fundedWallet(shop)
      const before = await rail.till(shop)
      const response = await way.payer(shop, buyer)(url(), post({ itemId: 'lantern:1', quantity: 3, nickname: 'Brin' }))
      const bought = await json<ShopPurchase>(response, 200)
      assert.ok(response.headers.get(rail.receiptHeader))
      assert.equal((await rail.till(shop)) - before, 2_400_000n)
      assert.deepEqual(bought.recipient, { kind: 'nickname', value: 'Brin' })
      assert.deepEqual([bought.status, bought.delivery.state, bought.quantity], ['confirmed', 'delivered', 3])
      assert.equal(bought.price.atomic, '2400000')
      const given = (await ledger(shop)).filter(({ orderId }) => orderId === bought.orderId)
      assert.deepEqual(given, [{ orderId: bought.orderId, nickname: 'Brin', itemId: 'lantern:1', quantity: 3 }])
      assert.deepEqual(shopPurchaseSchema.parse(bought), bought)
    })

    test('an item goes to the player with a wallet, at that player’s own price', async () => {
      verifies('1.3', '2.2.4')
      const { account, nickname } = await linkedBuyer(shop)
      await shop.store.db.query(
        `insert into discounts (player_id, item_id, basis_points) select id, 'keys:5', 2500 from players where nickname = $1`,
        [nickname],
      )
      const before = await rail.till(shop)
      const body = { itemId: 'keys:5', address: account.address.toLowerCase() }
      const bought = await json<ShopPurchase>(await way.payer(shop, account)(url(), post(body)), 200)
      assert.equal((await rail.till(shop)) - before, 1_125_000n)
      assert.equal(bought.recipient.value, account.address)
      assert.equal((await ledger(shop)).find(({ orderId }) => orderId === bought.orderId)?.nickname, nickname)
    })

    test('F-10: a player who is renamed after payment still receives it, and the new owner of the name does not', async () => {
      const { account, nickname } = await linkedBuyer(shop)
      const renamed = `${nickname} of old`
      const act = async () => {
        await shop.store.db.query('update players set nickname = $2 where nickname = $1', [nickname, renamed])
        await shop.store.db.query(`insert into players (id, nickname) values ('thief ' || $1::text, $1)`, [nickname])
      }
      meanwhile = { at: 'deliver.begun', act }
      const response = await way.payer(shop, account)(url(), post({ itemId: 'keys:5', nickname }))
      const bought = await json<ShopPurchase>(response, 200)
      assert.equal(meanwhile, null)
      const given = (await ledger(shop)).filter(({ orderId }) => orderId === bought.orderId)
      assert.deepEqual(
        given.map(({ nickname }) => nickname),
        [renamed],
      )
    })

    test('a purchase to fail_delivery is paid and then refunded in full', async () => {
      verifies('D12.5')
      const buyer = await fundedWallet(shop)
      const before = await rail.balance(shop, buyer.address)
      const response = await way.payer(shop, buyer)(url(), post({ itemId: 'keys:5', nickname: 'fail_delivery' }))
      const refusal = await json<Refusal>(response, 409)
      assert.deepEqual([refusal.code, refusal.payment.taken], ['fulfilment_failed', true])
      const end = await endOf(shop, way.rail, refusal.orderId!)
      assert.deepEqual([end.status, end.delivery.state, end.refund?.status], ['refunded', 'failed', 'refunded'])
      assert.ok(before - (await rail.balance(shop, buyer.address)) <= 100_000n)
      assert.equal((await ledger(shop)).filter(({ nickname }) => nickname === 'fail_delivery').length, 0)
    })
  })
}

test('a purchase to flaky_delivery succeeds after two failures, once', async () => {
  verifies('D12.5')
  const pay = x402Payer(await fundedWallet(shop))
  const response = await pay(`${shop.url}/shop/x402/buy`, post({ itemId: 'keys:5', nickname: 'flaky_delivery' }))
  const bought = await json<ShopPurchase>(response, 200)
  assert.equal((await ledger(shop)).filter(({ orderId }) => orderId === bought.orderId).length, 1)
})

test('A-01: on MPP the payer’s linked player receives it, and nobody else’s payer can be named', async () => {
  verifies('1.3', '2.2.5')
  const [mine, other] = await Promise.all([linkedBuyer(shop), linkedBuyer(shop)])
  const url = `${shop.url}/shop/mpp/buy`
  const body = { itemId: 'keys:5', payer: mine.account.address }
  const bought = await json<ShopPurchase>(await mppPayer(shop, mine.account, 'pull')(url, post(body)), 200)
  assert.deepEqual(bought.recipient, { kind: 'payer', value: mine.account.address })
  assert.equal((await ledger(shop)).find(({ orderId }) => orderId === bought.orderId)?.nickname, mine.nickname)

  const before = await mppPullUnderTest.balance(shop, other.account.address)
  const refusal = await json<Refusal>(await mppPayer(shop, other.account, 'pull')(url, post(body)), 403)
  assert.deepEqual([refusal.code, refusal.payment.taken], ['payer_mismatch', false])
  assert.equal(await mppPullUnderTest.balance(shop, other.account.address), before)
})

test('A-01: a pushed payment that names another payer is sent back in full', async () => {
  const [mine, other] = await Promise.all([linkedBuyer(shop), linkedBuyer(shop)])
  const before = await mppPushUnderTest.balance(shop, other.account.address)
  const body = { itemId: 'keys:5', payer: mine.account.address }
  const response = await mppPayer(shop, other.account, 'push')(`${shop.url}/shop/mpp/buy`, post(body))
  const { orderId, code } = await json<Refusal>(response, 409)
  assert.equal(code, 'fulfilment_failed')
  assert.equal((await endOf(shop, 'mpp', orderId!)).status, 'refunded')
  assert.ok(before - (await mppPushUnderTest.balance(shop, other.account.address)) <= 100_000n)
  assert.equal((await ledger(shop)).filter(({ nickname }) => nickname === mine.nickname).length, 0)
})

test('what cannot be bought is refused before anybody is asked to pay', async () => {
  verifies('D5.4')
  const unlinked = await fundedWallet(shop)
  const nobody = '0x00000000000000000000000000000000000000aa'
  for (const [rail, body, status, code] of [
    ['x402', { itemId: 'keys:6', nickname: 'Ada' }, 404, 'item_not_found'],
    ['x402', { itemId: 'keys:5', nickname: 'Nobody' }, 404, 'recipient_not_found'],
    ['x402', { itemId: 'keys:5', address: nobody }, 404, 'recipient_not_found'],
    ['mpp', { itemId: 'keys:5', payer: unlinked.address }, 404, 'player_not_linked'],
    ['x402', { itemId: 'phantom-blade:1', nickname: 'Ada' }, 409, 'item_unavailable'],
    ['mpp', { itemId: 'griffin-saddle:1', nickname: 'Brin' }, 409, 'item_unavailable'],
    ['mpp', { itemId: 'griffin-saddle:1', quantity: 2, nickname: 'Ada' }, 409, 'purchase_limit'],
    ['x402', { itemId: 'keys:5', quantity: 101, nickname: 'Ada' }, 400, 'quantity_out_of_range'],
    ['x402', { itemId: 'keys:5', nickname: 'Ada', colour: 'red' }, 400, 'unknown_property'],
    ['x402', { nickname: 'Ada' }, 400, 'invalid_request'],
  ] as const) {
    const response = await fetch(`${shop.url}/shop/${rail}/buy`, post(body))
    const refusal = await json<Refusal>(response, status)
    assert.deepEqual([refusal.code, refusal.payment.taken], [code, false], JSON.stringify(body))
  }
})

test('N-06: exactly one recipient, and the payer is one on MPP only', async () => {
  verifies('2.2.6', '2.2.7', '2.2.8')
  const ada = '0x00000000000000000000000000000000000000aa'
  const given = { nickname: 'Ada', address: ada, payer: ada }
  const kinds = ['nickname', 'address', 'payer'] as const
  for (const rail of ['x402', 'mpp'] as const) {
    for (let choice = 0; choice < 8; choice++) {
      const named = kinds.filter((_, bit) => choice & (1 << bit))
      const isFine = named.length === 1 && (rail === 'mpp' || named[0] !== 'payer')
      const body = { itemId: 'keys:5', ...Object.fromEntries(named.map((kind) => [kind, given[kind]])) }
      const response = await fetch(`${shop.url}/shop/${rail}/buy`, post(body))
      const { code } = (await response.json()) as Refusal
      if (isFine) assert.notEqual(response.status, 400, `${rail} ${named}`)
      else assert.deepEqual([response.status, code], [400, 'recipient_rule'], `${rail} ${named}`)
    }
  }
})

test('N-06: a nickname is matched exactly, however it was typed, and look-alikes are somebody else', async () => {
  verifies('D3.4', 'D9.1')
  await shop.store.db.query(`insert into players (id, nickname) values ('ply_zoe', $1)`, ['Zoë 🐉'])
  const quoteFor = (nickname: string) =>
    fetch(`${shop.url}/shop/x402/quote`, post({ itemId: 'keys:5', nickname })).then(async (response) => ({
      status: response.status,
      ...((await response.json()) as { executable?: boolean; code?: string; checks?: { code: string | null }[] }),
    }))
  // Composed and decomposed are one name.
  for (const spelling of ['Zo\u00eb 🐉', 'Zoe\u0308 🐉']) assert.equal((await quoteFor(spelling)).executable, true)
  for (const other of ['zoë 🐉', 'Zoe 🐉', 'Zoё 🐉', 'Zoë', 'Аda', 'ada', ' Ada']) {
    const { status, executable, checks } = await quoteFor(other)
    assert.deepEqual([status, executable], [200, false], other)
    assert.ok(checks?.some(({ code }) => code === 'recipient_not_found'))
  }
  for (const refused of ['', 'a'.repeat(65), 'a'.repeat(10_000), 'A\u202eda', 'A\u200bda', 'A\u0000da', 'A\nda']) {
    assert.deepEqual([(await quoteFor(refused)).status, (await quoteFor(refused)).code], [400, 'invalid_request'])
  }
  assert.equal((await quoteFor('😀'.repeat(64))).status, 200)
})

test('a quote tells the price for this player and every reason why not, and nobody pays', async () => {
  verifies('D2.2')
  const get = await json<{ executable: boolean; price: { atomic: string }; next: { body: object } }>(
    await fetch(`${shop.url}/shop/mpp/quote?itemId=keys:5&quantity=2&nickname=Ada`),
    200,
  )
  assert.deepEqual([get.executable, get.price.atomic], [true, '2700000'])
  assert.deepEqual(get.next.body, { itemId: 'keys:5', quantity: 2, nickname: 'Ada' })
  const low = await json<{ executable: boolean; price: null; checks: { check: string; code: string | null }[] }>(
    await fetch(`${shop.url}/shop/x402/quote`, post({ itemId: 'griffin-saddle:1', nickname: 'Brin' })),
    200,
  )
  assert.deepEqual([low.executable, low.price], [false, null])
  assert.ok(low.checks.some(({ check, code }) => check === 'item' && code === 'item_unavailable'))
  const bad = await fetch(`${shop.url}/shop/x402/quote?itemId=keys:5&nickname=Ada&payer=0x00`)
  assert.equal((await json<Refusal>(bad, 400)).code, 'recipient_rule')
})

test('a price question without a body is answered with the lowest price on the shelf', async () => {
  verifies('D5.5')
  const response = await fetch(`${shop.url}/shop/x402/buy`)
  assert.equal(response.status, 402)
  const required = JSON.parse(Buffer.from(response.headers.get('payment-required')!, 'base64').toString())
  assert.equal(required.accepts[0].amount, '800000')
})

test('A-05: whoever asks by the payment transaction learns nothing of the player; the order id shows all', async () => {
  verifies('D13.1', 'D13.2')
  const { account, nickname } = await linkedBuyer(shop)
  const url = `${shop.url}/shop/mpp/buy`
  const response = await mppPayer(
    shop,
    account,
    'pull',
  )(url, post({ itemId: 'keys:5', nickname }, { 'x-flow-id': 'mine' }))
  const bought = await json<ShopPurchase>(response, 200)
  const status = `${shop.url}/shop/mpp/purchases`
  const seen = await (await fetch(`${status}/${bought.paymentTx}`)).text()
  for (const secret of [nickname, bought.orderId, 'ply_', 'mine']) assert.ok(!seen.includes(secret), secret)
  assert.equal((JSON.parse(seen) as ShopPurchase).status, 'confirmed')
  const all = await json<ShopPurchase>(await fetch(`${status}/${bought.orderId}`), 200)
  assert.equal(all.recipient.value, nickname)
  assert.equal((await fetch(`${status}/0x${'11'.repeat(32)}`)).status, 404)
  assert.equal((await fetch(`${shop.url}/shop/x402/purchases/${bought.paymentTx}`)).status, 404)
})

/** The others were taken, and are followed to their end: all of them delivered. */
async function refusedOf(answers: readonly Response[]): Promise<readonly Refusal[]> {
  const bodies = await Promise.all(answers.map((answer) => answer.json() as Promise<Refusal & ShopPurchase>))
  for (const { orderId } of bodies.filter((_, index) => answers[index]!.status < 300))
    assert.equal((await endOf(shop, 'x402', orderId)).status, 'confirmed')
  return bodies.filter((_, index) => answers[index]!.status >= 300)
}

test('F-03: twenty buyers at once for the last three pieces: three pay, seventeen are not charged', async () => {
  await addItem(shop, { id: 'last', stock: 3 })
  const buyers = await Promise.all(Array.from({ length: 20 }, () => fundedWallet(shop)))
  const before = await x402UnderTest.till(shop)
  const url = `${shop.url}/shop/x402/buy`
  const credentials = await Promise.all(
    buyers.map(async (buyer) =>
      x402UnderTest.pay(shop, buyer, await fetch(url, post({ itemId: 'last', nickname: 'Ada' }))),
    ),
  )
  const answers = await Promise.all(
    credentials.map((credential) =>
      fetch(url, post({ itemId: 'last', nickname: 'Ada' }, { 'payment-signature': credential })),
    ),
  )
  const refused = await refusedOf(answers)
  assert.equal(refused.length, 17)
  for (const { code, payment } of refused) assert.deepEqual([code, payment.taken], ['item_unavailable', false])
  assert.equal((await x402UnderTest.till(shop)) - before, 300_000n)
  assert.equal((await ledger(shop, 'last')).length, 3)
  const { rows } = await shop.store.db.query<{ stock: string }>(`select stock from items where id = 'last'`)
  assert.equal(rows[0]?.stock, '0')
})

test('twenty orders at once for a player with a limit of three: three pay, and one more later is refused', async () => {
  await addItem(shop, { id: 'limited', limitPerPlayer: 3 })
  const { nickname } = await linkedBuyer(shop)
  const buyers = await Promise.all(Array.from({ length: 20 }, () => fundedWallet(shop)))
  const before = await x402UnderTest.till(shop)
  const url = `${shop.url}/shop/x402/buy`
  const body = { itemId: 'limited', nickname }
  const buy = async (credential: Promise<string>) => fetch(url, post(body, { 'payment-signature': await credential }))
  const credentials = await Promise.all(
    buyers.map(async (buyer) => x402UnderTest.pay(shop, buyer, await fetch(url, post(body)))),
  )
  const answers = await Promise.all(credentials.map((credential) => buy(Promise.resolve(credential))))
  const refused = await refusedOf(answers)
  assert.equal(refused.length, 17)
  for (const { code, payment } of refused) assert.deepEqual([code, payment.taken], ['purchase_limit', false])
  assert.equal((await x402UnderTest.till(shop)) - before, 300_000n)
  assert.equal((await ledger(shop, 'limited')).length, 3)
  const later = await json<Refusal>(await fetch(url, post(body)), 409)
  assert.equal(later.code, 'purchase_limit')
})

test('what is delivered and not yet confirmed counts once: the second of two allowed pieces can be bought meanwhile', async () => {
  await addItem(shop, { id: 'pair', limitPerPlayer: 2, stock: 2 })
  const { account, nickname } = await linkedBuyer(shop)
  const body = { itemId: 'pair', nickname }
  const url = `${shop.url}/shop/mpp/buy`
  const second: Response[] = []
  const act = async () => {
    second.push(await mppPayer(shop, await fundedWallet(shop), 'pull')(url, post(body)))
  }
  meanwhile = { at: 'game.answered', act }
  const first = await mppPayer(shop, account, 'pull')(url, post(body))
  assert.deepEqual([first.status, second[0]?.status], [200, 200])
  assert.equal((await ledger(shop, 'pair')).length, 2)
  assert.equal((await fetch(url, post(body))).status, 409)
})

test('a purchase to slow_delivery is answered 202 first, and delivered some seconds later', async () => {
  verifies('D12.5')
  const impatient = await startShop({ env: { SUTLER_WAIT_MS: '300' } })
  try {
    const buyer = await fundedWallet(impatient)
    const body = { itemId: 'keys:5', nickname: 'slow_delivery' }
    const url = `${impatient.url}/shop/x402/buy`
    const credential = await x402UnderTest.pay(impatient, buyer, await fetch(url, post(body)))
    const moving = await json<ShopPurchase>(await fetch(url, post(body, { 'payment-signature': credential })), 202)
    assert.equal(moving.delivery.state, 'pending')
    assert.deepEqual(await ledger(impatient), [])
    assert.equal((await endOf(impatient, 'x402', moving.orderId)).status, 'confirmed')
    assert.equal((await ledger(impatient)).length, 1)
    const again = await json<ShopPurchase>(await fetch(url, post(body, { 'payment-signature': credential })), 200)
    assert.equal(again.orderId, moving.orderId)
  } finally {
    await impatient.stop()
  }
})
