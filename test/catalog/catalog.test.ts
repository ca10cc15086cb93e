import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { catalogSchema, offersSchema } from '../../src/api/shop/catalog.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createWallet } from '../../src/outbox/wallet.ts'
import { playerKey } from '../../src/sandbox/players.ts'
import { surfaces } from '../../src/service/surfaces.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'

type Item = {
  id: string
  displayName: string
  description: string
  price: { amount: string; currency: string }
  available: boolean
  limitPerPlayer?: number
  personal?: { limitLeft: number | null; isEligible: boolean; reason: string | null; listPrice: string }
}
type Entry = {
  id: string
  surface: string
  protocol: string
  method: string
  purchaseUrl: string
  quoteUrl: string | null
  statusUrlTemplate: string | null
  items: Item[]
}
type Catalog = {
  version: number
  generatedAt: string
  recipient: { kind: string; value: string; verified: boolean } | null
  entries: Entry[]
  items: (Item & { catalogId: string; surface: string; purchaseUrl: string; checkout: { protocols: string[] } })[]
  services: { purchaseUrl: string; price: { amount: string; currency: string } }[]
}

const ada = createWallet(playerKey('Ada')).address

describe('one origin for both protocols', () => {
  let shop: TestShop
  before(async () => {
    shop = await startShop()
  })
  after(() => shop.stop())

  const get = (path: string, headers: Record<string, string> = {}) => fetch(shop.url + path, { headers })
  const read = async <Body = Catalog>(path: string): Promise<Body> => {
    const response = await get(path)
    assert.equal(response.status, 200)
    return (await response.json()) as Body
  }
  const entry = ({ entries }: Catalog, id: string) => entries.find((entry) => entry.id === id)!

  test('the catalog has an entry for each surface and protocol, priced where the interface says so', async () => {
    verifies('2.3.5', '2.3.6', '2.3.7', '2.3.8', '9.3', 'D4.1')
    const catalog = await read('/catalog')
    assert.deepEqual([catalog.version, catalog.recipient], [1, null])
    const shape = catalog.entries.map(({ id, method, purchaseUrl, quoteUrl, statusUrlTemplate, items }) => [
      id,
      method,
      ...[purchaseUrl, quoteUrl, statusUrlTemplate].map((url) => url?.replace(shop.url, '') ?? null),
      items.length,
    ])
    assert.deepEqual(
      shape.filter(([id]) => !String(id).startsWith('craft')),
      [
        ['sale-x402', 'POST', '/agentic/x402/buy', '/agentic/x402/quote', '/agentic/x402/purchases/{paymentTx}', 5],
        ['sale-mpp', 'POST', '/agentic/mpp/buy', '/agentic/mpp/quote', '/agentic/mpp/purchases/{paymentTx}', 0],
        ['shop-x402', 'POST', '/shop/x402/buy', '/shop/x402/quote', '/shop/x402/purchases/{paymentTx}', 6],
        ['shop-mpp', 'POST', '/shop/mpp/buy', '/shop/mpp/quote', '/shop/mpp/purchases/{paymentTx}', 6],
        ['gateway-x402', 'GET', '/x402/cheap-health', null, '/payments/{paymentTx}', 0],
      ],
    )
    for (const { surface, items } of catalog.entries) if (surface === 'craft') assert.deepEqual(items, [])
    assert.deepEqual(entry(catalog, 'sale-x402').items[0], {
      id: '391',
      displayName: 'Initiate Pass',
      description: 'Opens the gates of the citadel for one season.',
      price: { amount: '9.00', currency: 'USDC' },
      available: true,
    })
    assert.deepEqual(entry(catalog, 'shop-mpp').items[0], {
      id: 'keys:5',
      displayName: 'Five Keys',
      description: 'Five keys for five chests.',
      price: { amount: '1.50', currency: 'pathUSD' },
      available: true,
    })
    assert.equal(entry(catalog, 'shop-x402').items[0]?.price.currency, 'USDC')
    assert.equal(entry(catalog, 'shop-x402').items.find(({ id }) => id === 'phantom-blade:1')?.available, false)
    assert.deepEqual(catalogSchema(surfaces).parse(catalog), catalog)
  })

  test('the flat list names everything once, with the ways to pay for it', async () => {
    verifies('D4.1')
    const { items, services } = await read('/catalog')
    assert.equal(items.length, 11)
    assert.deepEqual(items[0], {
      catalogId: 'sale:391',
      surface: 'sale',
      id: '391',
      displayName: 'Initiate Pass',
      description: 'Opens the gates of the citadel for one season.',
      price: { amount: '9.00', currency: 'USDC' },
      available: true,
      purchaseUrl: `${shop.url}/agentic/x402/buy`,
      checkout: {
        protocols: ['x402', 'mpp'],
        purchaseUrls: { x402: `${shop.url}/agentic/x402/buy`, mpp: `${shop.url}/agentic/mpp/buy` },
      },
    })
    assert.deepEqual(
      services.map(({ purchaseUrl, price }) => `${new URL(purchaseUrl).pathname} ${price.amount} ${price.currency}`),
      [
        '/shop/mpp/player-lookup 0.02 pathUSD',
        '/x402/cheap-health 0.001 USDC',
        '/x402/report-tx 0.001 USDC',
        '/craft/x402/burn 0.001 USDC',
        '/craft/x402/accelerate 0.001 USDC',
        '/craft/mpp/burn 0.001 pathUSD',
        '/craft/mpp/accelerate 0.001 pathUSD',
      ],
    )
    assert.ok(items.some(({ catalogId }) => catalogId === 'shop:keys:5'))
  })

  test('an offers route lists one shelf in the money of its protocol; the alias is the same list', async () => {
    verifies('D1.1', 'D4.2')
    for (const [path, id, currency, count] of [
      ['/agentic/x402/offers', 'sale-x402', 'USDC', 5],
      ['/agentic/mpp/offers', 'sale-mpp', 'pathUSD', 5],
      ['/shop/x402/offers', 'shop-x402', 'USDC', 6],
      ['/shop/mpp/offers', 'shop-mpp', 'pathUSD', 6],
      ['/shop/api/shop/items', 'shop-x402', 'USDC', 6],
    ] as const) {
      const offers = await read<Entry>(path)
      assert.deepEqual([offers.id, offers.items.length], [id, count])
      assert.deepEqual([...new Set(offers.items.map(({ price }) => price.currency))], [currency])
      assert.deepEqual(offersSchema(surfaces).parse(offers), offers)
    }
  })

  test('an anonymous listing may be kept for 30 seconds, and is not sent again to whoever has it', async () => {
    verifies('D4.4')
    for (const path of ['/catalog', '/shop/mpp/offers']) {
      const first = await get(path)
      assert.equal(first.headers.get('cache-control'), 'public, max-age=30')
      const etag = first.headers.get('etag')!
      assert.match(etag, /^"[0-9a-f]{32}"$/)
      const text = await first.text()
      assert.equal(await (await get(path)).text(), text)
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
        const again = await get(path, { 'if-none-match': known })
        assert.deepEqual([again.status, await again.text(), again.headers.get('etag')], [304, '', etag])
      }
      assert.equal((await get(path, { 'if-none-match': '"other"' })).status, 200)
    }
  })

  test('a listing for a player has their own prices, limits and eligibility, and is kept by nobody', async () => {
    verifies('1.9', 'D4.4', 'D4.6')
    for (const [query, kind] of [
      ['nickname=Ada', 'nickname'],
      [`address=${ada}`, 'address'],
      [`payer=${ada.toLowerCase()}`, 'payer'],
    ] as const) {
      const response = await get(`/catalog?${query}`)
      assert.equal(response.headers.get('cache-control'), 'private, no-store')
      assert.equal(response.headers.get('etag'), null)
      const catalog = (await response.json()) as Catalog
      assert.deepEqual(catalog.recipient, { kind, value: kind === 'nickname' ? 'Ada' : ada, verified: false })
      const { items } = entry(catalog, 'shop-mpp')
      assert.deepEqual(items[0]?.price, { amount: '1.35', currency: 'pathUSD' })
      assert.deepEqual(items[0]?.personal, { limitLeft: null, isEligible: true, reason: null, listPrice: '1.50' })
      assert.equal(items.find(({ id }) => id === 'griffin-saddle:1')?.personal?.limitLeft, 1)
      assert.deepEqual(catalogSchema(surfaces).parse(catalog), catalog)
    }
    const { items } = await read<Entry>('/shop/x402/offers?nickname=Brin')
    assert.deepEqual(items.find(({ id }) => id === 'griffin-saddle:1')?.personal, {
      limitLeft: 1,
      isEligible: false,
      reason: 'It needs level 10.',
      listPrice: '12.00',
    })
  })

  test('A-05: a listing never tells an identifier that the caller did not give', async () => {
    verifies('D4.6')
    const byName = await (await get('/catalog?nickname=Ada')).text()
    const byWallet = await (await get(`/catalog?address=${ada}`)).text()
    assert.ok(!byName.toLowerCase().includes(ada.toLowerCase()) && !byName.includes('ply_'))
    assert.ok(!byWallet.includes('Ada') && !byWallet.includes('ply_'))
  })

  test('A-05: an unknown player is refused on every listing, without a word about who was asked for', async () => {
    verifies('D4.5')
    const stranger = '0x00000000000000000000000000000000000000aa'
    for (const path of ['/catalog', '/shop/x402/offers', '/agentic/mpp/offers', '/shop/api/shop/items']) {
      for (const query of ['nickname=Nobody', `address=${stranger}`, `payer=${stranger}`]) {
        const response = await get(`${path}?${query}`)
        assert.equal(response.status, 404)
        const body = (await response.json()) as { code: string; detail: string }
        assert.equal(body.code, 'recipient_not_found')
        assert.ok(!body.detail.includes(stranger) && !body.detail.includes('Nobody'))
      }
    }
  })

  test('more than one identifier, an unknown parameter and a bad address are refused', async () => {
    verifies('D4.5')
    for (const [query, code] of [
      [`nickname=Ada&address=${ada}`, 'recipient_rule'],
      [`payer=${ada}&address=${ada}`, 'recipient_rule'],
      [`nickname=Ada&address=${ada}&payer=${ada}`, 'recipient_rule'],
      ['nickname=Ada&nickname=Brin', 'duplicate_key'],
      ['colour=red', 'unknown_property'],
      ['address=0x12', 'invalid_request'],
      ['nickname=', 'invalid_request'],
    ] as const) {
      const response = await get(`/catalog?${query}`)
      assert.equal(response.status, 400, query)
      assert.equal(((await response.json()) as { code: string }).code, code, query)
    }
  })
})

describe('what a listing costs', () => {
  let now = Date.now()
  const asked: string[] = []
  let shop: TestShop
  before(async () => {
    shop = await startShop({
      clock: { ...systemClock, now: () => now },
      wrapDatabase: (database) => ({
        ...database,
        query(sql, values) {
          const text = typeof sql === 'string' ? sql : sql.text
          if (/from (items|players)/.test(text)) asked.push(text)
          return database.query(sql, values)
        },
      }),
    })
    // What the shop itself looks at when it starts is nobody's reading.
    asked.length = 0
  })
  after(() => shop.stop())
  const get = (path: string) => fetch(`${shop.url}${path}`)

  test('the shelves are looked at once for many readers, and a changed price shows with a new ETag', async () => {
    verifies('D4.3')
    const first = await get('/shop/x402/offers')
    const etag = first.headers.get('etag')
    await Promise.all(Array.from({ length: 50 }, async () => (await get('/shop/x402/offers')).arrayBuffer()))
    assert.equal(asked.length, 1)
    await shop.store.db.query(`update items set price = 1000000 where id = 'keys:5'`)
    now += 2_001
    const second = await get('/shop/x402/offers')
    assert.equal(asked.length, 2)
    assert.notEqual(second.headers.get('etag'), etag)
    const text = await second.text()
    const { items } = JSON.parse(text) as Entry
    assert.equal(items.find(({ id }) => id === 'keys:5')?.price.amount, '1.00')
    // Looked at again and unchanged: the same text, byte for byte.
    now += 2_001
    assert.equal(await (await get('/shop/x402/offers')).text(), text)
    assert.equal(asked.length, 3)
  })

  test('A-05: for an unknown player the store is asked the very same questions as for a known one', async () => {
    for (const path of ['/catalog', '/shop/x402/offers', '/agentic/mpp/offers']) {
      const questions = async (nickname: string, status: number) => {
        asked.length = 0
        assert.equal((await get(`${path}?nickname=${nickname}`)).status, status)
        return [...asked]
      }
      const known = await questions('Ada', 200)
      assert.ok(known.length >= 2)
      assert.deepEqual(await questions('Nobody', 404), known)
    }
  })
})

test('with a host for each protocol, each lists its own', async () => {
  verifies('D1.3', 'D1.4')
  const shop = await startShop({
    configure: (config) => ({
      ...config,
      http: { ...config.http, x402BaseUrl: config.http.baseUrl.replace('localhost', '127.0.0.1') },
    }),
  })
  try {
    const { baseUrl, x402BaseUrl } = shop.config.http
    for (const [host, protocol, other, currency] of [
      [x402BaseUrl, 'x402', 'mpp', 'USDC'],
      [baseUrl, 'mpp', 'x402', 'pathUSD'],
    ] as const) {
      const catalog = (await (await fetch(`${host}/catalog`)).json()) as Catalog
      const own = catalog.entries.filter(({ surface }) => surface !== 'craft')
      assert.deepEqual([...new Set(own.map(({ protocol }) => protocol))], [protocol])
      for (const { purchaseUrl } of own) assert.ok(purchaseUrl.startsWith(host))
      for (const { checkout, price } of catalog.items) {
        assert.deepEqual(checkout.protocols, [protocol])
        assert.equal(price.currency, currency)
      }
      const items = (await (await fetch(`${host}/shop/api/shop/items`)).json()) as Entry
      assert.equal(items.id, `shop-${protocol}`)
      assert.equal((await fetch(`${host}/shop/${protocol}/offers`)).status, 200)
      const wrong = await fetch(`${host}/shop/${other}/offers`)
      assert.equal(wrong.status, 404)
      assert.match(((await wrong.json()) as { detail: string }).detail, /is served at http/)
    }
  } finally {
    await shop.stop()
  }
})

for (const [env, protocol] of [
  [{ SUTLER_MPP: 'false' }, 'x402'],
  [{ SUTLER_X402: 'false' }, 'mpp'],
] as const) {
  test(`with ${protocol} alone, nothing of the other protocol is listed`, async () => {
    const shop = await startShop({ env })
    try {
      const text = await (await fetch(`${shop.url}/catalog`)).text()
      const catalog = JSON.parse(text) as Catalog
      assert.deepEqual([...new Set(catalog.entries.map((entry) => entry.protocol))], [protocol])
      assert.equal(
        catalog.entries.some(({ surface }) => surface === 'gateway'),
        protocol === 'x402',
      )
      assert.equal(catalog.items.length, 11)
      const other = protocol === 'x402' ? 'mpp' : 'x402'
      assert.equal((await fetch(`${shop.url}/shop/${other}/offers`)).status, 404)
      assert.equal((await fetch(`${shop.url}/shop/api/shop/items`)).status, 200)
    } finally {
      await shop.stop()
    }
  })
}
