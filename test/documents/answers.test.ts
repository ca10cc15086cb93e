import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { systemRandom } from '../../src/base/id.ts'
import type { Json, JsonObject } from '../../src/base/json.ts'
import { createSandboxPlayers } from '../../src/sandbox/players.ts'
import { approveTokens, type Crafter, crafterAtWork, newCrafter, TOKEN } from '../craft/workshop.ts'
import { post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { exampleBody, freeAddress, paidRequest, railOf } from './asking.ts'
import { type Listed, type OpenApi, operationsOf, type Published, published, readJson } from './documents.ts'

// What the contracts promise, compared with what the live server takes and gives.

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

function assertValid(validate: ValidateFunction, value: unknown, what: string): void {
  assert.ok(validate(value), `${what}: ${JSON.stringify(validate.errors, null, 1)}\n${JSON.stringify(value)}`)
}

/** The example of an answer, wherever it stands. */
function shownAnswer({ components }: OpenApi, { operation }: Listed, status: number, mediaType: string) {
  const { $ref, content } = operation.responses[status]!
  const named = $ref ? (components['responses']![$ref.split('/').at(-1)!] as { content: typeof content }) : null
  return (content ?? named?.content)?.[mediaType]?.example as Json | undefined
}

/** The contract has an example of this answer; it keeps to its own schema, and is what the live server answers but for its values. */
function assertShown(
  name: 'paid' | 'free',
  listed: Listed,
  status: number,
  { live, mediaType = 'application/json' }: { live: Json; mediaType?: string },
) {
  const { document, says } = contracts[name]
  const shown = shownAnswer(document, listed, status, mediaType)
  const what = `the example of ${status} of ${listed.method} ${listed.path}`
  assert.ok(shown !== undefined, `${what} is missing; npm run docs takes it from a run`)
  assertValid(says.response(listed, status, mediaType), shown, what)
  // Of contracts and vectors only the beginning is shown.
  if (/^\/(openapi|signing-vectors)\b/.test(listed.path)) return
  // One refusal stands for all of its status, and what is inside it is of the operation that was refused.
  const depth = status === 200 ? 9 : 1
  assert.deepEqual(
    shapeOf(shown, depth),
    shapeOf(live, depth),
    `${what} is of another shape; npm run docs takes it anew`,
  )
}

/** Names of members, without what stands in them: lists differ in length, and what may be null is null now and then. */
function shapeOf(value: Json, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth === 0) return 'a value'
  if (Array.isArray(value)) return 'a list'
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member, depth - 1)]))
}

/** Transactions of what was bought, by the path that sold it. */
const bought = new Map<string, string>()

describe('paid operations', () => {
  test('every example is what its schema asks for', () => {
    for (const listed of contracts.paid.operations) {
      if (listed.method === 'GET') continue
      assertValid(contracts.paid.says.request(listed), exampleBody(listed), listed.path)
      const widened = { ...exampleBody(listed), unknown: 1 }
      assert.equal(contracts.paid.says.request(listed)(widened), false, `${listed.path} takes anything`)
    }
  })

  test('the example of every operation is sold, and its 402 and 200 are as the contract says', async () => {
    verifies('D6.1', 'D6.2')
    for (const listed of contracts.paid.operations) {
      const request = paidRequest(listed, buyer)
      const unpaid = await fetch(shop.url + listed.path, request)
      assert.equal(unpaid.status, 402, listed.path)
      if (listed.path.endsWith('/accelerate')) await approveTokens(shop, buyer, TOKEN)
      const required = (await unpaid.json()) as Json
      assertValid(contracts.paid.says.response(listed, 402), required, `402 of ${listed.path}`)
      assertShown('paid', listed, 402, { live: required })
      const paid = await buyer.pay[railOf(listed)](shop.url + listed.path, request)
      assert.equal(paid.status, 200, `${listed.path}: ${await paid.clone().text()}`)
      const answer = (await paid.json()) as JsonObject & { paymentTx: string }
      assertValid(contracts.paid.says.response(listed, 200), answer, `200 of ${listed.path}`)
      assertShown('paid', listed, 200, { live: answer })
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
      const problem = (await refused.json()) as Json
      assertValid(contracts.paid.says.response(listed, status), problem, `${status} of ${path}`)
      assertShown('paid', listed, status, { live: problem })
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

test('every free operation answers its example as the contract says, and shows an answer', async () => {
  verifies('D2.2', 'D2.3', 'D2.4', 'D16.10')
  const { operations, says } = contracts.free
  for (const listed of operations) {
    const { method, path, operation } = listed
    const address = freeAddress(listed, bought)
    const example = exampleBody(listed)
    if (method === 'POST') assertValid(says.request(listed), example, path)
    const response = await fetch(shop.url + address, method === 'POST' ? post(example) : {})
    assert.equal(response.status, 200, `${method} ${address}: ${await response.clone().text()}`)
    const mediaType = response.headers.get('content-type')!.split(';')[0]!
    const text = await response.text()
    const answer = mediaType.endsWith('json') ? JSON.parse(text) : text
    assertValid(says.response(listed, 200, mediaType), answer, `${method} ${path}`)
    assertShown('free', listed, 200, { live: answer, mediaType })
    if (mediaType === 'application/json' && operation.responses['404'] && path.includes('{')) {
      const unknown = await fetch(shop.url + path.replace(/\{\w+\}/, `0x${'00'.repeat(32)}`))
      assert.equal(unknown.status, 404, path)
      assertValid(says.response(listed, 404), await unknown.json(), `404 of ${path}`)
    }
  }
})

describe('contracts of their own', () => {
  const operator = () => ({ authorization: `Bearer ${shop.config.operatorToken!.reveal()}` })

  test('only operators are told what operators may do, and all of it is there and closed to others', async () => {
    verifies('D16.11')
    const url = `${shop.url}/openapi.operator.json`
    assert.equal((await fetch(url)).status, 401)
    const listed = operationsOf(await readJson(url, operator()))
    const paths = listed.map(({ method, path }) => `${method} ${path}`)
    for (const known of ['GET /events', 'GET /metrics', 'POST /operator/orders/{id}/refund', 'POST /operator/items'])
      assert.ok(paths.includes(known), known)
    for (const { method, path, operation } of listed) {
      const named = shop.url + path.replace(/\{\w+\}/, 'nobody')
      if ((operation['security'] as unknown[]).length > 0)
        assert.equal((await fetch(named, { method })).status, 401, `${method} ${path}`)
      const absent = await fetch(named, { method: 'PATCH', headers: operator() })
      assert.equal(absent.status, 405, `${path} is not there`)
      assert.ok(absent.headers.get('allow')!.split(', ').includes(method), `${method} ${path}`)
    }
    const { paths: open } = contracts.free.document
    assert.deepEqual(
      Object.keys(open).filter((path) => /operator|^\/(events|metrics)$/.test(path)),
      [],
    )
  })

  test('events have one: the log answers as it says, and every webhook is in it', async () => {
    const document = await readJson(`${shop.url}/openapi.events.json`)
    const [log] = operationsOf(document)
    const response = await fetch(`${shop.url}/events?after=0&limit=1`, { headers: operator() })
    const page = (await response.json()) as Json
    assertValid(published(document).response(log!, 200), page, '/events')
    assertValid(
      published(document).response(log!, 200),
      shownAnswer(document, log!, 200, 'application/json'),
      'example',
    )
    assert.deepEqual(document.webhooks, contracts.free.document.webhooks)
  })
})
