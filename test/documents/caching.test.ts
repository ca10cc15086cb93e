import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { operationsOf, readJson } from './documents.ts'

let now = systemClock.now()
let looks = 0
let shop: TestShop
let documents: readonly string[]
/** Until then nothing is done by itself: only who is asked for a document looks. */
const over = Promise.withResolvers<void>()
before(async () => {
  shop = await startShop({
    clock: { ...systemClock, now: () => now, sleep: (...nap) => over.promise.then(() => systemClock.sleep(...nap)) },
    wrapDatabase: (database) => ({
      ...database,
      query(sql, values) {
        if (/from items/.test(typeof sql === 'string' ? sql : sql.text)) looks++
        return database.query(sql, values)
      },
    }),
  })
  const free = operationsOf(await readJson(`${shop.url}/openapi.full.json`))
  documents = free.flatMap(({ method, path, operation }) =>
    method === 'GET' && operation.tags.includes('discovery') && !path.includes('{') ? [path] : [],
  )
})
after(() => {
  over.resolve()
  return shop.stop()
})

const get = (path: string, headers: Record<string, string> = {}) => fetch(shop.url + path, { headers })

const seconds: Readonly<Record<string, number>> = {
  '/catalog': 30,
  '/mcp/server-card': 3_600,
  '/.well-known/mcp/server-card.json': 3_600,
  '/.well-known/mcp/server.json': 3_600,
  '/.well-known/ai-catalog.json': 3_600,
}

test('every document may be kept by anybody, and costs nothing when it is still the same', async () => {
  assert.ok(documents.length >= 17, documents.join())
  for (const path of [...documents, '/errors']) {
    const first = await get(path)
    assert.equal(first.status, 200, path)
    assert.equal(first.headers.get('cache-control'), `public, max-age=${seconds[path] ?? 300}`, path)
    const etag = first.headers.get('etag')!
    assert.match(etag, /^"[0-9a-f]{32}"$/, path)
    const again = await get(path, { 'if-none-match': etag })
    assert.equal(again.status, 304, path)
    assert.equal(await again.text(), '')
    assert.equal(again.headers.get('etag'), etag)
    assert.equal(again.headers.get('cache-control'), first.headers.get('cache-control'))
    assert.equal((await get(path, { 'if-none-match': '"another"' })).status, 200, path)
    const head = await fetch(shop.url + path, { method: 'HEAD' })
    assert.equal(head.status, 200, path)
    assert.equal(head.headers.get('etag'), etag, path)
    assert.equal(head.headers.get('content-length'), String((await first.arrayBuffer()).byteLength), path)
  }
})

test('documents are written once for many readers, and stay the same, byte for byte, until something on the shelves changes', async () => {
  const paths = ['/openapi.json', '/openapi.full.json', '/llms.txt', '/discovery/resources', '/sitemap.xml', '/']
  const read = () => Promise.all(paths.map(async (path) => (await get(path)).text()))
  const first = await read()
  looks = 0
  for (let i = 0; i < 20; i++) assert.deepEqual(await read(), first)
  assert.equal(looks, 0)
  now += 2_001
  await get(paths[0]!)
  const once = looks
  assert.ok(once > 0)
  assert.deepEqual(await read(), first)
  assert.equal(looks, once, 'all documents share one look at the shelves')
})

test('no document is served where it would promise what does not work', async () => {
  for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json', '/.well-known/402index-verify.txt'])
    assert.equal((await get(path)).status, 404, path)
})
