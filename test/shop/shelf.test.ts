import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { JsonObject } from '../../src/base/json.ts'
import { post, x402Payer } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { deedsAbout, desk, done } from './shelf-desk.ts'
import { json, linkedBuyer, type Refusal, type ShopPurchase } from './support.ts'

// Items of the embedded game, put on the shelf, changed and hidden by the operator's routes while the shop sells.

let shop: TestShop
let buyer: { account: PrivateKeyAccount; nickname: string }
before(async () => {
  shop = await startShop()
  buyer = await linkedBuyer(shop)
})
after(() => shop.stop())

const buy = (itemId: string, quantity = 1) =>
  x402Payer(buyer.account)(`${shop.url}/shop/x402/buy`, post({ itemId, quantity, nickname: buyer.nickname }))

const listed = async (id: string): Promise<JsonObject | undefined> => {
  const { items } = (await (
    await fetch(`${shop.url}/shop/x402/offers?nickname=${encodeURIComponent(buyer.nickname)}`)
  ).json()) as { items: (JsonObject & { id: string })[] }
  return items.find((item) => item.id === id)
}

const shelf = async (id: string): Promise<JsonObject> => {
  const { items } = (await done(shop, '/operator/items')) as unknown as { items: (JsonObject & { id: string })[] }
  return items.find((item) => item.id === id)!
}

test('an item that is added is on sale at once, with all that was said of it', async () => {
  const item = {
    id: 'torch:1',
    name: 'Torch',
    description: 'Burns for an hour.',
    price: '0.40',
    supply: 3,
    limitPerPlayer: 2,
    levelMin: 1,
    picture: 'https://pictures.example/torch.png',
    opensAt: '2020-01-01T00:00:00Z',
    closesAt: '2999-01-01T00:00:00+02:00',
  }
  const { status, told } = await desk(shop, '/operator/items', { ...item, by: 'mara' })
  assert.deepEqual([status, told['did'], told['left'], told['closesAt']], [201, 'added', 3, '2998-12-31T22:00:00.000Z'])
  const seen = await listed('torch:1')
  assert.deepEqual(
    [seen?.['displayName'], seen?.['price'], seen?.['picture'], seen?.['limitPerPlayer'], seen?.['available']],
    ['Torch', { amount: '0.40', currency: 'USDC' }, item.picture, 2, true],
  )
  const bought = await json<ShopPurchase>(await buy('torch:1', 2), 200)
  assert.equal(bought.price.atomic, '800000')
  assert.deepEqual([(await shelf('torch:1'))['delivered'], (await shelf('torch:1'))['left']], [2, 1])
  const [deed] = await deedsAbout(shop, 'torch:1')
  assert.deepEqual([deed?.deed, deed?.by, deed?.before, deed?.after?.['price']], ['item.added', 'mara', null, '0.40'])
})

test('a hidden item is neither listed nor sold, and comes back as it was', async () => {
  await done(shop, '/operator/items', { id: 'secret:1', name: 'Secret', price: '0.10' })
  await done(shop, '/operator/items/secret:1', { hidden: true, by: 'mara' })
  assert.equal(await listed('secret:1'), undefined)
  assert.equal((await json<Refusal>(await buy('secret:1'), 404)).code, 'item_not_found')
  await done(shop, '/operator/items/secret:1', { hidden: false, by: 'mara' })
  await json(await buy('secret:1'), 200)
  const deeds = await deedsAbout(shop, 'secret:1')
  assert.deepEqual(
    deeds.map(({ deed }) => deed),
    ['item.added', 'item.hidden', 'item.shown'],
  )
  assert.deepEqual([deeds[1]?.before?.['hidden'], deeds[1]?.after?.['hidden']], [false, true])
})

test('an item is sold within its window only, and says when that is', async () => {
  await done(shop, '/operator/items', { id: 'later:1', name: 'Later', price: '0.10', opensAt: '2999-01-01T00:00:00Z' })
  const refusal = await json<Refusal>(await buy('later:1'), 409)
  assert.match(refusal.detail, /sold from 2999-01-01T00:00:00\.000Z on\. Nothing was taken/)
  assert.equal((await listed('later:1'))?.['available'], false)
  await done(shop, '/operator/items/later:1', { opensAt: null, closesAt: '2020-01-01T00:00:00Z' })
  assert.match((await json<Refusal>(await buy('later:1'), 409)).detail, /sold until 2020-01-01/)
  await done(shop, '/operator/items/later:1', { closesAt: null })
  await json(await buy('later:1'), 200)
})

test('what was sold since an export is not put back by importing it, and a stock below what is owed is refused', async () => {
  await done(shop, '/operator/items', { id: 'few:1', name: 'Few', price: '0.10', stock: 5 })
  const { csv } = (await done(shop, '/operator/items.csv')) as unknown as { csv: string }
  await json(await buy('few:1', 4), 200)
  const again = await done(shop, '/operator/items.csv', { csv })
  assert.deepEqual([again['added'], again['changed']], [0, 0])
  assert.equal((await shelf('few:1'))['left'], 1)
  assert.equal((await json<Refusal>(await buy('few:1', 2), 409)).code, 'item_unavailable')
  const low = await desk(shop, '/operator/items/few:1', { supply: 3 })
  assert.equal(low.status, 400)
  assert.match(low.told.detail!, /supply: 4 were delivered .* smallest supply is 4.*hide it\. Nothing was changed/)
  assert.equal((await done(shop, '/operator/items/few:1', { stock: 7 }))['supply'], 11)
  assert.equal((await done(shop, '/operator/items/few:1', { stock: null }))['left'], null)
})

test('an import is all or nothing, names each line that is wrong, and may be repeated', async () => {
  const header = 'id,name,price,supply,description'
  const broken = [
    header,
    'lamp:1,Lamp,2.00,10,Shines.',
    'lamp:2,Lamp,0,absurd,',
    'lamp:1,Lamp again,1.00,,',
    'lamp:3,,1.00,99999999999,"two',
    'lines"',
    'too,few',
  ].join('\n')
  const { status, told } = await desk(shop, '/operator/items.csv', { csv: broken, by: 'mara' })
  assert.equal(status, 400)
  assert.match(told.detail!, /^4 lines of the table cannot be used, so nothing was changed/)
  const words = told.errors!.map(({ detail }) => detail)
  assert.deepEqual(words, [
    'line 3: price 0 is no price; write an amount above zero, or hide it',
    'line 3: supply is a whole number from 0 on (this line would work: lamp:2,Lamp,1.50,,)',
    'line 4: lamp:1 stands in line 2 already; keep one of the two',
    'line 5: name is empty; every good has a name',
    'line 5: supply is more than a thousand million; leave it empty if there is no end to it (this line would work: lamp:3,Five Keys,1.00,,"two\nlines")',
    'line 7: it has 2 cells and the header has 5; put quotes around commas',
  ])
  assert.equal(await shelf('lamp:1'), undefined)

  const csv = `${header}\nlamp:1,Lamp,2.00,10,Shines.\nkeys:5,Five Keys,1.50,,Five keys for five chests.\n`
  assert.deepEqual(await done(shop, '/operator/items.csv', { csv, trial: true }), counts(1, 0, 1, true))
  assert.equal(await shelf('lamp:1'), undefined, 'a trial changes nothing')
  assert.deepEqual(await done(shop, '/operator/items.csv', { csv, by: 'mara' }), counts(1, 0, 1, false))
  assert.deepEqual(await done(shop, '/operator/items.csv', { csv, by: 'mara' }), counts(0, 0, 2, false))
  assert.equal((await deedsAbout(shop, 'lamp:1')).length, 1)
  for (const [table, fault] of [
    ['', /line 1: it is empty; the first line names the columns: id,name/],
    ['id,name,price\n', /a header and no lines/],
    ['id,nome\na,b\n', /no column "nome"/],
    ['name,price\na,1\n', /the column id is missing/],
    ['id,id\na,b\n', /the column id is there twice/],
    ['id,name\na,"b\n', /line 2: a quote is opened and never closed/],
    ['id,name\nnew:1,New\n', /line 2: price new:1 is new and needs a price/],
  ] as const) {
    const refused = await desk(shop, '/operator/items.csv', { csv: table })
    assert.equal(refused.status, 400, table)
    assert.match(refused.told.errors![0]!.detail, fault)
  }
})

test('a formula in a name is guarded when it is exported, and comes back as it was', async () => {
  const name = '=HYPERLINK("https://evil.example","free")'
  await done(shop, '/operator/items', { id: 'evil:1', name, description: '+1', price: '0.10' })
  const { csv } = (await done(shop, '/operator/items.csv')) as unknown as { csv: string }
  const line = csv.split('\r\n').find((text) => text.startsWith('"evil:1"'))!
  assert.ok(line.startsWith(`"evil:1","'=HYPERLINK(""https://evil.example"",""free"")","'+1","0.10"`), line)
  const again = await done(shop, '/operator/items.csv', { csv })
  assert.deepEqual([again['added'], again['changed']], [0, 0])
})

test('two thousand items are imported at once, each with its deed, and one more is refused', async () => {
  const lines = (count: number) =>
    Array.from({ length: count }, (_, n) => `many:${n},Many ${n},0.${n + 1000},${n}`).join('\n')
  const csv = `id,name,price,supply\n${lines(2000)}`
  assert.deepEqual(await done(shop, '/operator/items.csv', { csv, by: 'mara' }), counts(2000, 0, 0, false))
  const { rows } = await shop.store.db.query<{ calls: string; deeds: string }>(
    `select count(distinct data ->> 'callId') as calls, count(*) as deeds
     from events where type = 'operator.acted' and data -> 'about' ->> 'id' like 'many:%'`,
  )
  assert.deepEqual(rows[0], { calls: '1', deeds: '2000' })
  const more = await desk(shop, '/operator/items.csv', { csv: `id,name,price,supply\n${lines(2001)}` })
  assert.match(more.told.errors![0]!.detail, /2001 lines; at most 2000/)
})

const counts = (added: number, changed: number, unchanged: number, trial: boolean) => ({
  added,
  changed,
  unchanged,
  trial,
})
