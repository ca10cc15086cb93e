import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { systemRandom } from '../../src/base/id.ts'
import type { JsonObject } from '../../src/base/json.ts'
import { createSandboxPlayers } from '../../src/sandbox/players.ts'
import { type Crafter, crafterAtWork, newCrafter } from '../craft/workshop.ts'
import { filledIn, post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { type Listed, type OpenApi, operationsOf, type Published, published, readJson } from './documents.ts'

// What the contracts promise, held against what the live server takes and gives.

let shop: TestShop
let buyer: Crafter
const contracts = {} as Record<'paid' | 'free', { document: OpenApi; says: Published; operations: readonly Listed[] }>
before(async () => {
  shop = await startShop()
  buyer = await crafterAtWork(shop)
  await createSandboxPlayers(shop.store.db, systemRandom).create({ nickname: 'Reader', address: buyer.address })
  for (const [name, path] of [
    ['paid', '/openapi.json'],
    ['free', '/openapi.full.json'],
  ] as const) {
    const document = await readJson(shop.url + path)
    contracts[name] = { document, says: published(document), operations: operationsOf(document) }
  }
})
after(() => shop.stop())

const railOf = ({ path }: Listed) => (path.includes('mpp') ? 'mpp' : 'x402')
const exampleOf = ({ operation }: Listed) => filledIn(operation.requestBody?.content['application/json']?.example ?? {})

function assertValid(validate: ValidateFunction, value: unknown, what: string): void {
  assert.ok(validate(value), `${what}: ${JSON.stringify(validate.errors, null, 1)}\n${JSON.stringify(value)}`)
}

/** The example; but whoever crafts must be the payer, and own what is burned. */
function bodyOf(listed: Listed): JsonObject | undefined {
  const example = exampleOf(listed)
  if (!listed.path.startsWith('/craft/')) return example
  const nfts = listed.path.includes('mpp') ? buyer.nfts.slice(1, 2) : buyer.nfts.slice(2, 3)
  return { ...example, user: buyer.address, ...(example?.['nfts'] ? { nfts } : {}) } as JsonObject
}

const requestOf = (listed: Listed, body: unknown): RequestInit =>
  listed.method === 'GET' ? {} : post(JSON.stringify(body ?? {}))

/** Transactions of what was bought, by the path that sold it. */
const bought = new Map<string, string>()

describe('paid operations', () => {
  test('every example is what its schema asks for', () => {
    for (const listed of contracts.paid.operations) {
      if (listed.method === 'GET') continue
      assertValid(contracts.paid.says.request(listed), exampleOf(listed), listed.path)
      const widened = { ...exampleOf(listed), unknown: 1 }
      assert.equal(contracts.paid.says.request(listed)(widened), false, `${listed.path} takes anything`)
    }
  })

  test('the example of every operation is sold, and its 402 and 200 are as the contract says', async () => {
    verifies('D6.1', 'D6.2')
    for (const listed of contracts.paid.operations) {
      const request = requestOf(listed, bodyOf(listed))
      const unpaid = await fetch(shop.url + listed.path, request)
      assert.equal(unpaid.status, 402, listed.path)
      assertValid(contracts.paid.says.response(listed, 402), await unpaid.json(), `402 of ${listed.path}`)
      const paid = await buyer.pay[railOf(listed)](shop.url + listed.path, request)
      assert.equal(paid.status, 200, `${listed.path}: ${await paid.clone().text()}`)
      const answer = (await paid.json()) as { paymentTx: string }
      assertValid(contracts.paid.says.response(listed, 200), answer, `200 of ${listed.path}`)
      bought.set(listed.path, answer.paymentTx)
    }
  })

  test('refusals are as the contract says', async () => {
    verifies('D8.1')
    const stranger = await newCrafter(shop)
    const refusals: readonly (readonly [number, string, unknown])[] = [
      [400, '/agentic/x402/buy', { saleId: 391 }],
      [400, '/shop/mpp/buy', { itemId: 'keys:5', nickname: 'Demo', colour: 'red' }],
      [404, '/agentic/mpp/buy', { saleId: 4242, beneficiary: buyer.address }],
      [404, '/shop/x402/buy', { itemId: 'keys:5', nickname: 'nobody-at-all' }],
      [409, '/agentic/x402/buy', { saleId: 398, beneficiary: buyer.address }],
      [403, '/craft/x402/burn', { user: buyer.address, nfts: [{ contract: buyer.nfts[0]!.contract, tokenId: '1' }] }],
      [403, '/craft/mpp/accelerate', { user: buyer.address }],
    ]
    for (const [status, path, body] of refusals) {
      const listed = contracts.paid.operations.find((operation) => operation.path === path)!
      const refused = await stranger.pay[railOf(listed)](shop.url + path, post(body))
      assert.equal(refused.status, status, `${path}: ${await refused.clone().text()}`)
      assertValid(contracts.paid.says.response(listed, status), await refused.json(), `${status} of ${path}`)
    }
  })

  test('a purchase that is still moving, and its status, are as the contracts say', async () => {
    verifies('D6.1', 'D6.4')
    const { url } = await shop.replica({
      configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 1 } }),
    })
    for (const rail of ['x402', 'mpp'] as const) {
      const path = `/shop/${rail}/buy`
      const listed = contracts.paid.operations.find((operation) => operation.path === path)!
      const moving = await buyer.pay[rail](url + path, post({ itemId: 'keys:5', nickname: 'slow_delivery' }))
      assert.equal(moving.status, 202, await moving.clone().text())
      const answer = (await moving.json()) as { statusUrl: string }
      assertValid(contracts.paid.says.response(listed, 202), answer, `202 of ${path}`)
      const status = await fetch(answer.statusUrl)
      const read = contracts.free.operations.find((other) => other.path === `/shop/${rail}/purchases/{paymentTx}`)!
      assertValid(contracts.free.says.response(read, status.status), await status.json(), `status of ${path}`)
    }
  })
})

test('every free operation answers its example as the contract says', async () => {
  verifies('D2.2', 'D2.3', 'D2.4')
  const { operations, says } = contracts.free
  for (const listed of operations) {
    const { method, path, operation } = listed
    const parameters = (operation['parameters'] ?? []) as readonly { name: string; in: string; example?: unknown }[]
    const query = new URLSearchParams(
      parameters.flatMap(({ name, example }) => (example === undefined ? [] : [[name, filledIn(String(example))]])),
    )
    const address = `${path.replace('{reference}', bought.get('/x402/report-tx')!).replace('{paymentTx}', transactionOf(path)).replace('{catalogId}', 'sale:392')}?${query}`
    const example = exampleOf(listed)
    if (method === 'POST') assertValid(says.request(listed), example, path)
    const response = await fetch(shop.url + address.replace(/\?$/, ''), method === 'POST' ? post(example) : {})
    assert.equal(response.status, 200, `${method} ${address}: ${await response.clone().text()}`)
    const mediaType = response.headers.get('content-type')!.split(';')[0]!
    const text = await response.text()
    const answer = mediaType.endsWith('json') ? JSON.parse(text) : text
    assertValid(says.response(listed, 200, mediaType), answer, `${method} ${path}`)
    if (mediaType === 'application/json' && operation.responses['404'] && path.includes('{')) {
      const unknown = await fetch(shop.url + path.replace(/\{\w+\}/, `0x${'00'.repeat(32)}`))
      assert.equal(unknown.status, 404, path)
      assertValid(says.response(listed, 404), await unknown.json(), `404 of ${path}`)
    }
  }
})

/** What was bought where this status is read. */
function transactionOf(path: string): string {
  const place = path.split('/').slice(0, 3).join('/')
  return [...bought].find(([sold]) => sold.startsWith(`${place}/`))?.[1] ?? ''
}
