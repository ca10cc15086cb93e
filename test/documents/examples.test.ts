import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PLACEHOLDER_ADDRESS, PLACEHOLDER_NICKNAME } from '../../src/base/placeholder.ts'
import { post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { operationsOf, readJson } from './documents.ts'

// What stands in documents is copied. It must cost little, burn nothing, and not work before its reader has put their own in.

let shop: TestShop
before(async () => {
  shop = await startShop({
    // As production has it, which knows neither items nor players when it starts.
    configure: (config) => ({
      ...config,
      game: { ...config.game, examples: { itemId: 'ITEM_ID', nickname: PLACEHOLDER_NICKNAME } },
    }),
  })
})
after(() => shop.stop())

const documents = [
  '/openapi.json',
  '/openapi.full.json',
  '/llms-full.txt',
  '/skill.md',
  '/',
  '/.well-known/mpp',
  '/discovery/resources',
]

test('examples name the cheapest thing of the shelf, no address that burns, and placeholders that are refused by name', async () => {
  verifies('D16.5')
  for (const path of documents) assert.doesNotMatch(await (await fetch(shop.url + path)).text(), /0x0{36}dead/i, path)
  const cheapest = { sale: ['saleId', 392], shop: ['itemId', 'lantern:1'] } as const
  for (const { path, operation } of operationsOf(await readJson(`${shop.url}/openapi.json`))) {
    const example = operation.requestBody?.content['application/json']?.example
    const [field, id] = cheapest[operation.tags[0] as 'sale' | 'shop'] ?? []
    if (field && example?.[field] !== undefined) assert.equal(example[field], id, path)
    const text = JSON.stringify(example ?? {})
    if (!text.includes(PLACEHOLDER_ADDRESS) && !text.includes(PLACEHOLDER_NICKNAME)) continue
    const refused = (await (await fetch(shop.url + path, post(example))).json()) as { code: string; detail: string }
    assert.equal(refused.code, 'placeholder', path)
    assert.match(refused.detail, /placeholder of our examples/)
  }
})
