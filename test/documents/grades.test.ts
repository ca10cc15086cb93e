import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readabilityOf } from '../../src/cli/doctor/readability.ts'
import { visitTo } from '../../src/cli/doctor/visit.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { operationsOf, readJson } from './documents.ts'
import { run } from './program.ts'

// What graders, crawlers and gateways look for that no schema of theirs asks for.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

const ask = (path: string, accept = '*/*') => fetch(shop.url + path, { headers: { accept } })

test('pages are Markdown for whoever accepts that, and at an address of their own', async () => {
  verifies('D16.9')
  for (const [page, mirror] of [
    ['/', '/index.md'],
    ['/docs', '/docs.md'],
    ['/errors', '/errors.md'],
  ] as const) {
    const [negotiated, own, html] = await Promise.all([ask(page, 'text/markdown'), ask(mirror), ask(page, 'text/html')])
    assert.equal(negotiated.headers.get('content-type'), 'text/markdown; charset=utf-8', page)
    assert.equal(await negotiated.text(), await own.text(), page)
    assert.match(html.headers.get('content-type')!, /^text\/html/, page)
    for (const { headers } of [negotiated, html]) assert.match(headers.get('vary')!, /^Accept\b/, page)
    const text = await html.text()
    assert.ok(text.includes(`<link rel="canonical" href="${shop.url}${page}">`), page)
    assert.match(text, /<meta name="description" content="[^"]{20,}">/)
  }
})

test('@vercel/agent-readability gives at least 95 of 100; one thing is declined, because it would be a lie', async () => {
  verifies('D16.12')
  const { stdout } = await run('.bin/agent-readability', ['audit', shop.url, '--json'])
  type Graded = { passed: boolean; skipped: boolean; name: string }
  const { score, categories } = JSON.parse(stdout) as {
    score: number
    categories: Record<string, { checks: Graded[] }>
  }
  const missed = Object.values(categories).flatMap(({ checks }) => checks.filter(({ passed }) => !passed))
  // A page that is not there is a 404, in whichever form: a 200 would be cited as if it were one.
  assert.deepEqual(
    missed.map(({ name }) => name),
    ['Missing page → markdown'],
  )
  assert.ok(score >= 95, `${score}`)
  // `sutler doctor` asks the same without the program.
  assert.deepEqual(await readabilityOf(visitTo(shop.url).ask), {
    score,
    missed: ['Markdown for a page that is not there'],
  })
})

test('programs that read for a model get the text, unless they name HTML', async () => {
  verifies('D16.12')
  const as = (agent: string, accept: string) =>
    fetch(`${shop.url}/docs`, { headers: { 'user-agent': agent, accept } }).then(({ headers }) =>
      headers.get('content-type'),
    )
  assert.match((await as('Mozilla/5.0 (compatible; ClaudeBot/1.0)', '*/*'))!, /^text\/markdown/)
  assert.match((await as('Mozilla/5.0 (compatible; ClaudeBot/1.0)', 'text/html'))!, /^text\/html/)
  assert.match((await as('curl/8.0', '*/*'))!, /^text\/html/)
})

test('the home page tells search engines what is on sale; a name cannot leave the data', async () => {
  const text = await (await ask('/', 'text/html')).text()
  const [, data] = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(text)!
  const { makesOffer } = JSON.parse(data!) as { makesOffer: { itemOffered: { sku: string }; price: string }[] }
  const { items } = await readJson<{ items: { catalogId: string; price: { amount: string } }[] }>(`${shop.url}/catalog`)
  assert.deepEqual(
    makesOffer.map(({ itemOffered, price }) => [itemOffered.sku, price]),
    items.map(({ catalogId, price }) => [catalogId, price.amount]),
  )
  assert.match(text, /<meta property="og:image" content="http/)
})

test('robots are told what the texts are for, and the manifest is also where others look', async () => {
  assert.match(await (await ask('/robots.txt')).text(), /^Content-Signal: search=yes, ai-input=yes$/m)
  assert.equal(await (await ask('/.well-known/x402.json')).text(), await (await ask('/.well-known/x402')).text())
})

test('discovery is read in parts, and each item is described where AgentKit looks', async () => {
  type Listing = { items: { resource: string; metadata: { description: string } }[]; pagination: object }
  const whole = await readJson<Listing>(`${shop.url}/discovery/resources`)
  const part = await readJson<Listing>(`${shop.url}/discovery/resources?limit=2&offset=1&type=http`)
  assert.deepEqual(part.items, whole.items.slice(1, 3))
  assert.deepEqual(part.pagination, { limit: 2, offset: 1, total: whole.items.length })
  for (const { metadata } of whole.items) assert.ok(metadata.description.length > 20)
  assert.equal((await ask('/discovery/resources?limit=x')).status, 400)
})

test('the 402 of x402 has tags and an icon; contracts let the unpaid call through, and say the terms flat as well', async () => {
  const unpaid = await fetch(`${shop.url}/agentic/x402/buy`, { method: 'POST' })
  const { resource } = JSON.parse(Buffer.from(unpaid.headers.get('payment-required')!, 'base64').toString())
  assert.deepEqual(resource.tags, ['commerce', 'gaming', 'sale'])
  assert.match((await fetch(resource.iconUrl)).headers.get('content-type')!, /^image\//)
  for (const { path, operation } of operationsOf(await readJson(`${shop.url}/openapi.json`))) {
    assert.deepEqual((operation['security'] as object[]).at(-1), {}, path)
    const info = operation['x-payment-info'] as unknown as Record<string, unknown>
    assert.deepEqual(Object.keys(info).slice(0, 4), ['protocol', 'network', 'asset', 'payTo'], path)
  }
})

test('every answer can be traced: by the name that its caller gave it, or by ours', async () => {
  verifies('D6.11')
  const paths = [
    '/',
    '/catalog',
    '/openapi.json',
    '/favicon.svg',
    '/health/live',
    '/nowhere',
    '/payments/x',
    '/operator/orders',
    '/mcp',
  ]
  for (const path of paths) {
    const own = await fetch(shop.url + path, { headers: { 'x-flow-id': 'mine-1' } })
    assert.equal(own.headers.get('x-flow-id'), 'mine-1', path)
    assert.match((await ask(path)).headers.get('x-flow-id') ?? '', /^flow_/, path)
  }
})

test('the signing guide and its vectors are served, and llms.txt leads there', async () => {
  assert.match(await (await ask('/signing.md')).text(), /TransferWithAuthorization/)
  assert.ok((await readJson<{ x402: object }>(`${shop.url}/signing-vectors.json`)).x402)
  assert.ok((await (await ask('/llms.txt')).text()).includes(`${shop.url}/signing.md`))
})
