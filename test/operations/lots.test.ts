import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { decodeFunctionData } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { saleLots } from '../../src/artifacts/SaleLots.ts'
import type { Hex } from '../../src/base/hex.ts'
import type { JsonObject } from '../../src/base/json.ts'
import type { Service } from '../../src/service/service.ts'
import { movableClock, setLot } from '../checkout/counter.ts'
import { deedsAbout, desk, done } from '../shop/shelf-desk.ts'
import { json, type Refusal } from '../shop/support.ts'
import { fundedWallet, post, x402Payer } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'

// Lots are made and changed on the chain by their manager; the shop finds, hides and describes them.

let shop: TestShop
let other: Service
let buyer: PrivateKeyAccount
const clock = movableClock()
const otherClock = movableClock()

before(async () => {
  shop = await startShop({ clock })
  other = await shop.replica({ clock: otherClock })
  buyer = await fundedWallet(shop)
})
after(() => shop.stop())

const lookAgain = () => {
  clock.move(2_001)
  otherClock.move(2_001)
}

const buy = (saleId: number, url = shop.url) =>
  x402Payer(buyer)(`${url}/agentic/x402/buy`, post({ saleId, beneficiary: buyer.address }))

async function listed(url: string, id: string): Promise<JsonObject | undefined> {
  const { items } = (await (await fetch(`${url}/agentic/x402/offers`)).json()) as {
    items: (JsonObject & { id: string })[]
  }
  return items.find((item) => item.id === id)
}

test('a lot that is made on the chain is on sale on every replica within two seconds, without a word', async () => {
  for (const url of [shop.url, other.url]) assert.equal(await listed(url, '500'), undefined)
  await setLot(shop, 500, { price: '0.40', supply: 3n })
  lookAgain()
  for (const url of [shop.url, other.url]) {
    assert.deepEqual((await listed(url, '500'))?.['price'], { amount: '0.40', currency: 'USDC' })
    await json(await buy(500, url), 200)
  }
})

test('SUTLER_SALE_IDS still names the only lots on offer', async () => {
  const only = await shop.replica({
    configure: (config) => ({ ...config, game: { ...config.game, sale: { ...config.game.sale!, saleIds: [392] } } }),
  })
  assert.equal(await listed(only.url, '391'), undefined)
  assert.equal((await json<Refusal>(await buy(391, only.url), 404)).code, 'sale_not_found')
  await json(await buy(392, only.url), 200)
})

test('a hidden lot is neither listed nor sold, on any replica, and nothing changes on the chain', async () => {
  const credential = await x402UnderTest.pay(
    shop,
    buyer,
    await fetch(`${shop.url}/agentic/x402/buy`, post({ saleId: 391, beneficiary: buyer.address })),
  )
  await done(shop, '/operator/lots/391', { hidden: true, by: 'mara' })
  // Even with the price in hand, and before anything was read again.
  const headers = { [x402UnderTest.header]: credential }
  const late = await fetch(`${other.url}/agentic/x402/buy`, post({ saleId: 391, beneficiary: buyer.address }, headers))
  assert.equal((await json<Refusal>(late, 404)).payment.taken, false)
  lookAgain()
  for (const url of [shop.url, other.url]) {
    assert.equal(await listed(url, '391'), undefined)
    assert.equal((await json<Refusal>(await buy(391, url), 404)).code, 'sale_not_found')
  }
  await done(shop, '/operator/lots/391', { hidden: false, by: 'mara' })
  lookAgain()
  await json(await buy(391), 200)
  const deeds = await deedsAbout(shop, '391')
  assert.deepEqual(
    deeds.map(({ deed, by }) => [deed, by]),
    [
      ['lot.hidden', 'mara'],
      ['lot.shown', 'mara'],
    ],
  )
})

test('the shop may call a lot otherwise than the chain, and go back to what the chain says', async () => {
  const picture = 'https://pictures.example/flag.png'
  await done(shop, '/operator/lots/392', { name: 'Flag', description: 'A piece of it.', picture })
  lookAgain()
  const seen = await listed(other.url, '392')
  assert.deepEqual(
    [seen?.['displayName'], seen?.['description'], seen?.['picture']],
    ['Flag', 'A piece of it.', picture],
  )
  const { csv } = (await done(shop, '/operator/lots.csv')) as unknown as { csv: string }
  assert.match(
    csv,
    /\r\n"392","Flag","A piece of it\.","https:\/\/pictures\.example\/flag\.png","no","0\.25","100000",/,
  )
  const back = 'id,name,description,picture,hidden\n392,,,,no\n'
  assert.deepEqual(await done(shop, '/operator/lots.csv', { csv: back, trial: true }), counts(1, 0, true))
  assert.deepEqual(await done(shop, '/operator/lots.csv', { csv: back }), counts(1, 0, false))
  assert.deepEqual(await done(shop, '/operator/lots.csv', { csv: back }), counts(0, 1, false))
  lookAgain()
  assert.equal((await listed(shop.url, '392'))?.['displayName'], 'Banner Fragment')
  const strange = await desk(shop, '/operator/lots.csv', { csv: 'id,name\n392,Flag\n999,Nothing\n' })
  assert.match(strange.told.errors![0]!.detail, /^line 3: id 999 is no lot of the contract/)
  assert.match(
    (await desk(shop, '/operator/lots/999', { hidden: true })).told.detail!,
    /no lot 999; nothing was changed/,
  )
})

const counts = (changed: number, unchanged: number, trial: boolean) => ({ added: 0, changed, unchanged, trial })

test('a price that changes on the chain binds nobody who was asked for another, on any rail or replica', async () => {
  const rails = [x402UnderTest, mppPullUnderTest, mppPushUnderTest]
  const request = { saleId: 501, beneficiary: buyer.address }
  const path = (rail: string) => `/agentic/${rail}/buy`
  await setLot(shop, 501, { price: '0.20', supply: 100n })
  lookAgain()
  const old = await Promise.all(
    rails.map(async (rail) => rail.pay(shop, buyer, await fetch(shop.url + path(rail.rail), post(request)))),
  )
  await fetch(other.url + path('x402'), post(request))
  await setLot(shop, 501, { price: '0.30', supply: 100n })
  clock.move(2_001)
  for (const [index, rail] of rails.entries()) {
    const pay = async (credential: string) => {
      const response = await fetch(other.url + path(rail.rail), post(request, { [rail.header]: credential }))
      return (await json<{ price: { atomic: string } }>(response, 200)).price.atomic
    }
    // The other replica has read neither price again.
    assert.equal(await pay(old[index]!), '200000', rail.name)
    const fresh = await rail.pay(shop, buyer, await fetch(shop.url + path(rail.rail), post(request)))
    assert.equal(await pay(fresh), '300000', rail.name)
  }
})

test('the transaction for the lot manager is what makes the lot so, and what cannot be is refused', async () => {
  const wanted = { name: 'Season Pass', uri: 'https://a.example/1.json', price: '9.00', supply: 10 }
  const prepared = await done(shop, '/operator/lots/502/transaction', { ...wanted, opensAt: '2026-01-01T00:00:00Z' })
  const { args } = decodeFunctionData({ abi: saleLots.abi, data: prepared['data'] as Hex })
  assert.deepEqual(args, [
    502n,
    {
      name: 'Season Pass',
      uri: 'https://a.example/1.json',
      unitPrice: 9_000_000n,
      supply: 10n,
      opensAt: 1_767_225_600n,
      closesAt: 0n,
    },
  ])
  await shop.world.deployer.act({ to: shop.world.contracts.sale, data: prepared['data'] as Hex })
  lookAgain()
  assert.equal((await listed(shop.url, '502'))?.['displayName'], 'Season Pass')
  const cheaper = await done(shop, '/operator/lots/502/transaction', { price: '8.00', by: 'mara' })
  assert.deepEqual(cheaper['after'], { ...(cheaper['before'] as JsonObject), price: '8.00' })
  assert.deepEqual((await deedsAbout(shop, '502')).at(-1)?.deed, 'lot.prepared')
  for (const [saleId, body, words] of [
    ['503', { name: 'New', price: '1.00', supply: 1 }, /uri.*missing; a new lot needs/],
    ['500', { supply: 1 }, /supply.*smallest supply is 2/],
    ['502', { closesAt: '2025-01-01T00:00:00Z' }, /closesAt.*not after/],
    ['502', { price: '0' }, /price.*above zero/],
    ['502', { opensAt: '2026-01-01T00:00:00.500Z' }, /opensAt.*whole second/],
    ['x', { price: '1.00' }, /not a sale id/],
  ] as const) {
    const { status, told } = await desk(shop, `/operator/lots/${saleId}/transaction`, body)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(told.detail!, words)
  }
})
