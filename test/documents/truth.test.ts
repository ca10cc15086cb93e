import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Challenge } from 'mppx'
import { systemClock } from '../../src/base/clock.ts'
import { parseUsd } from '../../src/base/money.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { type Listed, type OpenApi, operationsOf, type PaymentInfo, readJson } from './documents.ts'

// What the documents say of money, compared with the live 402, which is what counts.

let now = systemClock.now()
let shop: TestShop
before(async () => {
  shop = await startShop({ clock: { ...systemClock, now: () => now } })
})
after(() => shop.stop())

const paidOperations = async () => operationsOf(await readJson(`${shop.url}/openapi.json`))
const infoOf = ({ operation }: Listed) => operation['x-payment-info']!
const railOf = (listed: Listed) => Object.keys(infoOf(listed).protocols[0]!)[0] as 'x402' | 'mpp'

/** What a live 402 asks for, in the words of the documents. */
type Asked = { readonly atomic: string; readonly terms: Readonly<Record<string, string>> }

async function ask(listed: Listed, init: RequestInit = { method: listed.method }): Promise<Asked> {
  const response = await fetch(shop.url + listed.path, init)
  assert.equal(response.status, 402, `${listed.path}: ${await response.clone().text()}`)
  return railOf(listed) === 'x402' ? x402Asks(response) : mppAsks(response)
}

function x402Asks(response: Response): Asked {
  type Required = { accepts: [Record<'scheme' | 'network' | 'asset' | 'payTo' | 'amount', string>] }
  const { accepts } = JSON.parse(
    Buffer.from(response.headers.get('payment-required')!, 'base64').toString(),
  ) as Required
  const [{ scheme, network, asset, payTo, amount }] = accepts
  return { atomic: amount, terms: { scheme, network, asset, payTo } }
}

function mppAsks(response: Response): Asked {
  const { method, intent, request } = Challenge.fromResponse(response)
  const { amount, currency, recipient, methodDetails } = request as {
    readonly amount: string
    readonly currency: string
    readonly recipient: string
    readonly methodDetails: { readonly chainId: number }
  }
  // `purchase` is a word of discovery; on the wire the registered intent is part of the method's name (contract 5.4.2).
  const terms = { method: `${method}/${intent}`, intent: 'purchase', network: `${method}:${methodDetails.chainId}` }
  return { atomic: amount, terms: { ...terms, currency, recipient } }
}

test('openapi.json: terms and price of every operation are those of its live 402', async () => {
  verifies('D16.2')
  const operations = await paidOperations()
  assert.equal(operations.length, 11)
  for (const listed of operations) {
    const { price, protocols, offers, atomic } = infoOf(listed)
    const asked = await ask(listed)
    assert.deepEqual(asked.terms, protocols[0]![railOf(listed)], listed.path)
    const least = price.mode === 'fixed' ? price.amount! : price.min!
    assert.equal(asked.atomic, parseUsd(least).toString(), listed.path)
    assert.equal(atomic, price.mode === 'fixed' ? asked.atomic : undefined, listed.path)
    if (railOf(listed) === 'x402') continue
    const [offer] = offers!
    assert.equal(offer!.currency, asked.terms['currency'])
    assert.equal(offer!.amount, price.mode === 'fixed' ? asked.atomic : null)
  }
})

test('the words and prices of the interface are in openapi.json', async () => {
  const at = new Map((await paidOperations()).map((listed) => [listed.path, infoOf(listed)]))
  for (const path of ['/craft/mpp/burn', '/craft/mpp/accelerate']) {
    const { price, protocols, authMode, retryHeader, retryBodyMode, recommendedClient } = at.get(path)!
    const { method, intent, network, currency, recipient } = protocols[0]!['mpp']!
    assert.deepEqual(
      { method, intent, network },
      { method: 'tempo/charge', intent: 'purchase', network: 'tempo:42431' },
    )
    assert.equal(currency, shop.config.mpp!.currency.address)
    assert.equal(recipient, shop.config.mpp!.recipient)
    assert.deepEqual(price, { mode: 'fixed', currency: 'USD', amount: '0.001' })
    assert.deepEqual(
      { authMode, retryHeader, retryBodyMode, recommendedClient },
      {
        authMode: 'paid',
        retryHeader: 'Authorization: Payment',
        retryBodyMode: 'reuse_original_json',
        recommendedClient: 'mppx',
      },
    )
  }
  for (const path of ['/craft/x402/burn', '/craft/x402/accelerate', '/x402/cheap-health', '/x402/report-tx'])
    assert.deepEqual([at.get(path)!.price.amount, at.get(path)!.atomic], ['0.001', '1000'], path)
  assert.equal(at.get('/shop/mpp/player-lookup')!.price.amount, '0.02')
  for (const [path, { rateLimited }] of at) assert.equal(rateLimited, path !== '/x402/report-tx', path)
})

test('every operation names its answers with schemas; only the route that is never limited has no 429', async () => {
  const { components } = await readJson(`${shop.url}/openapi.json`)
  for (const { path, operation } of await paidOperations()) {
    const statuses = ['200', '202', '402', '403', '404', '409', ...(path === '/x402/report-tx' ? [] : ['429'])]
    for (const status of statuses) {
      const { $ref, content } = operation.responses[status]!
      const named = $ref ? (components['responses']![$ref.split('/').at(-1)!] as { content: typeof content }) : null
      assert.ok((content ?? named?.content)?.['application/json']?.schema, `${path} ${status}`)
    }
    assert.equal(operation.responses['429'] === undefined, path === '/x402/report-tx')
    assert.equal((operation['security'] as unknown[]).length, 2, path)
  }
})

test('a price that changes on the shelf changes in every document that tells it, and in the 402', async () => {
  verifies('D16.2')
  const places: Readonly<Record<string, (text: string) => unknown>> = {
    '/openapi.json': (text) => infoAt(JSON.parse(text) as OpenApi, '/shop/mpp/buy').price.min,
    '/.well-known/mpp': (text) => (JSON.parse(text) as { checkouts: { shop: PaymentInfo } }).checkouts.shop.price.min,
    '/llms.txt': (text) => /\/shop\/x402\/buy: .*; from (\S+) USD/.exec(text)?.[1],
    '/llms-full.txt': (text) => /\/shop\/x402\/buy\n[\s\S]*?Price: from (\S+) USD/.exec(text)?.[1],
    '/skill.md': (text) => /`\/shop\/mpp\/buy` \| from (\S+) USD/.exec(text)?.[1],
    '/': (text) => /lantern:1<\/code>[\s\S]*?class="price">(\S+) USDC/.exec(text)?.[1],
    '/catalog': (text) => /"lantern:1".*?"amount":"(.*?)"/.exec(text)?.[1],
  }
  const told = async () => {
    const entries = Object.entries(places).map(async ([path, find]) => {
      const response = await fetch(shop.url + path)
      return [path, [find(await response.text()), response.headers.get('etag')]] as const
    })
    return Object.fromEntries(await Promise.all(entries))
  }
  const listed = (await paidOperations()).find(({ path }) => path === '/shop/x402/buy')!
  const before = await told()
  for (const [path, [price]] of Object.entries(before)) assert.equal(price, '0.80', path)
  assert.equal((await ask(listed)).atomic, '800000')

  await shop.store.db.query(`update items set price = 650000 where id = 'lantern:1'`)
  now += 2_001
  const after = await told()
  for (const [path, [price, etag]] of Object.entries(after)) {
    assert.equal(price, '0.65', path)
    assert.notEqual(etag, before[path]![1], path)
  }
  assert.equal((await ask(listed)).atomic, '650000')
  const resources = await readJson<{ items: { resource: string; accepts: { amount: string }[] }[] }>(
    `${shop.url}/discovery/resources`,
  )
  const resource = resources.items.find(({ resource }) => resource.endsWith('/shop/x402/buy'))
  assert.equal(resource?.accepts[0]?.amount, '650000')
})

function infoAt({ paths }: OpenApi, path: string): PaymentInfo {
  return paths[path]!['post']!['x-payment-info']!
}
