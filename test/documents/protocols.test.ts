import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ShopOptions, startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { operationsOf, readJson } from './documents.ts'

// Each document tells only what is true where it is read.

async function withShop(options: ShopOptions, run: (shop: TestShop) => Promise<void>): Promise<void> {
  const shop = await startShop(options)
  try {
    await run(shop)
  } finally {
    await shop.stop()
  }
}

const texts = ['/openapi.json', '/openapi.full.json', '/llms.txt', '/llms-full.txt', '/skill.md', '/catalog', '/']

/** How a protocol shows in a text: its name as a word, its routes, its money. */
const traces = {
  x402: /\bx402\b|USDC|eip155:84532/i,
  mpp: /\bmpp\b|\bmppx\b|pathUSD|tempo:42431/i,
} as const

const own = { x402: ['/.well-known/x402', '/discovery/resources'], mpp: ['/.well-known/mpp'] } as const

for (const [protocol, other] of [
  ['x402', 'mpp'],
  ['mpp', 'x402'],
] as const) {
  test(`with ${other} switched off, no document says a word of it, and its own are gone`, async () => {
    verifies('D1.5')
    await withShop({ env: { [`SUTLER_${other.toUpperCase()}`]: 'false' } }, async ({ url }) => {
      for (const path of own[protocol]) assert.equal((await fetch(url + path)).status, 200, path)
      for (const path of own[other]) assert.equal((await fetch(url + path)).status, 404, path)
      for (const path of [...texts, '/.well-known/ai-catalog.json', '/mcp/server-card']) {
        const response = await fetch(url + path)
        assert.equal(response.status, 200, path)
        const found = traces[other].exec(withoutVocabulary(await response.text()))
        assert.equal(found?.[0], undefined, `${path}: …${found?.input.slice(found.index - 60, found.index + 60)}…`)
      }
      for (const { path, operation } of operationsOf(await readJson(`${url}/openapi.json`)))
        assert.deepEqual(Object.keys(operation['x-payment-info']!.protocols[0]!), [protocol], path)
      for (const { path } of operationsOf(await readJson(`${url}/openapi.full.json`)))
        assert.doesNotMatch(path, new RegExp(`/${other}(/|$)`))
    })
  })
}

/** The shapes of answers are the same everywhere: they are the vocabulary, not the offer. */
function withoutVocabulary(text: string): string {
  return text.replaceAll('"enum":["x402","mpp"]', '')
}

test('with a host for each protocol, each tells of what it serves itself, under its own name', async () => {
  verifies('D1.2', 'D1.3')
  const split: ShopOptions = {
    configure: (config) => ({
      ...config,
      http: { ...config.http, x402BaseUrl: config.http.baseUrl.replace('localhost', '127.0.0.1') },
    }),
  }
  await withShop(split, async ({ config }) => {
    const { baseUrl, x402BaseUrl } = config.http
    for (const [host, protocol, other] of [
      [x402BaseUrl, 'x402', 'mpp'],
      [baseUrl, 'mpp', 'x402'],
    ] as const) {
      const payable = await readJson(`${host}/openapi.json`)
      assert.deepEqual(payable.servers, [{ url: host }])
      const operations = operationsOf(payable)
      assert.ok(operations.length > 0)
      for (const { method, path } of operations) {
        // Craft by x402 is listed under both (contract 4.3.12).
        if (!path.startsWith('/craft/x402/')) assert.doesNotMatch(path, new RegExp(`/${other}/`))
        assert.equal((await fetch(host + path, { method })).status, 402, `${host}${path}`)
      }
      const full = await readJson(`${host}/openapi.full.json`)
      assert.equal('/mcp' in full.paths, protocol === 'x402')
      for (const { method, path } of operationsOf(full)) {
        if (method !== 'GET' || path.includes('{') || path.endsWith('/quote')) continue
        assert.equal((await fetch(host + path)).status, 200, `${host}${path}`)
      }
      assert.equal((await fetch(`${host}/mcp/server-card`)).status, protocol === 'x402' ? 200 : 404)
      const sitemap = await (await fetch(`${host}/sitemap.xml`)).text()
      for (const [, address] of sitemap.matchAll(/<loc>(.*?)<\/loc>/g)) {
        assert.ok(address!.startsWith(host), address)
        assert.equal((await fetch(address!)).status, 200, address)
      }
    }
    // On the MPP host the x402 craft routes are all that x402 has to tell of; MPP has nothing at the other.
    const manifest = await readJson<{ resources: string[] }>(`${baseUrl}/.well-known/x402`)
    assert.deepEqual(
      manifest.resources.map((resource) => new URL(resource).pathname),
      ['/craft/x402/burn', '/craft/x402/accelerate'],
    )
    const { checkouts } = await readJson<{ checkouts: Record<string, { url: string }> }>(`${baseUrl}/.well-known/mpp`)
    for (const { url } of Object.values(checkouts)) assert.ok(url.startsWith(baseUrl), url)
    const wrong = await fetch(`${x402BaseUrl}/.well-known/mpp`)
    assert.equal(wrong.status, 404)
    assert.match(((await wrong.json()) as { detail: string }).detail, new RegExp(`served at ${baseUrl}`))
  })
})

test('every link that a document of this host gives leads somewhere here', async () => {
  await withShop({}, async ({ url }) => {
    const texts = await Promise.all(
      ['/llms.txt', '/llms-full.txt', '/skill.md', '/', '/.well-known/x402', '/.well-known/mpp', '/robots.txt'].map(
        async (path) => (await fetch(url + path)).text(),
      ),
    )
    const relative = [...texts[3]!.matchAll(/(?:href|src)="(\/[^"]*)"/g)].map(([, path]) => url + path)
    const absolute = texts.flatMap((text) => text.match(new RegExp(`${url}[\\w/.%:-]*[\\w/]`, 'g')) ?? [])
    for (const address of new Set([...relative, ...absolute])) {
      // What follows is the reader's own.
      if (/.\/$/.test(new URL(address).pathname)) continue
      const { status } = await fetch(address)
      assert.ok(status < 500 && status !== 404, `${address} answers ${status}`)
    }
  })
})
