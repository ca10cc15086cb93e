import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { systemClock } from '../../src/base/clock.ts'
import { Problem } from '../../src/base/problem.ts'
import type { Config } from '../../src/config/config.ts'
import type { Database } from '../../src/store/db.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { withoutClaim, x402UnderTest } from '../support/credentials.ts'
import { leapingClock } from '../support/leaping-clock.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { assertRefused } from './wire.ts'

const BUY = '/agentic/x402/buy'
const lot = { saleId: 392, beneficiary: '0x000000000000000000000000000000000000dEaD' }
/** A third or less of what is usual, and as far apart: a flood of ten times as much shows no more when it is larger. */
const rates = { unpaid: 40, quote: 20, read: 60, failed: 30 }

const limitedTo =
  (rate: Partial<typeof rates>, more: Partial<Config['http']> = {}) =>
  (config: Config): Config => ({
    ...config,
    http: { ...config.http, ...more },
    limits: { ...config.limits, rate: { ...rates, ...rate } },
  })

/** Sends the same call many times, some at once, and counts the answers by status. */
async function flood(times: number, call: (index: number) => Promise<Response>): Promise<Map<number, Response[]>> {
  const answers: Response[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: 12 }, async () => {
      while (next < times) {
        const answer = await call(next++)
        await answer.clone().arrayBuffer()
        answers.push(answer)
      }
    }),
  )
  return Map.groupBy(answers, ({ status }) => status)
}

/** The same store, but for what it does with the counts of callers. */
function withCounts(database: Database, count: (add: () => Promise<unknown>) => Promise<unknown>): Database {
  return {
    ...database,
    query: ((sql, values) => {
      const ask = () => database.query(sql, values)
      return typeof sql !== 'string' && sql.text.includes('rate_counters') ? count(ask) : ask()
    }) as Database['query'],
  }
}

/** Tells when no count is on its way. */
function talkingStore() {
  const underway = new Set<Promise<unknown>>()
  return {
    listen: (database: Database) =>
      withCounts(database, (add) => {
        const answer = add().finally(() => underway.delete(answer))
        underway.add(answer)
        return answer
      }),
    async hasAnswered() {
      while (underway.size > 0) await Promise.all(underway)
    },
  }
}

const countOf = (answers: Map<number, Response[]>, status: number) => answers.get(status)?.length ?? 0

/** What a replica writes and reads by itself, however many ask. */
const BEHIND =
  /outbox|event|watch|witnesses|replicas|reconcil|lot_notes|sale_restrictions|funnel_counts|shelf_names|order_sums|wallets/i

describe('calls', () => {
  const clock = leapingClock()
  const statements: string[] = []
  let shop: TestShop
  before(async () => {
    shop = await startShop({
      clock,
      configure: limitedTo({}),
      withoutWorker: true,
      wrapDatabase: (database) => ({
        ...database,
        query: ((sql, values) => {
          statements.push(typeof sql === 'string' ? sql : sql.text)
          return database.query(sql, values)
        }) as Database['query'],
      }),
    })
  })
  after(() => shop.stop())
  // Each test begins with whole allowances.
  const nextMinute = () => clock.leap(61_000)

  test('R-01: ten times the allowance of unpaid calls: the rest is 429 and never reaches the store', async () => {
    verifies('D9.2')
    nextMinute()
    statements.length = 0
    const answers = await flood(400, () => fetch(shop.url + BUY, post(lot)))
    assert.deepEqual([countOf(answers, 402), countOf(answers, 429)], [40, 360])
    const [allowed] = answers.get(402)!
    assert.match(allowed!.headers.get('ratelimit')!, /^"unpaid";r=\d+;t=\d+$/)
    assert.equal(allowed!.headers.get('ratelimit-policy'), '"unpaid";q=40;w=60')
    const refused = answers.get(429)![0]!
    const seconds = Number(refused.headers.get('retry-after'))
    assert.ok(seconds >= 1 && seconds <= 60)
    assert.equal(refused.headers.get('ratelimit'), `"unpaid";r=0;t=${seconds}`)
    const { payment, retry } = await assertRefused(refused, 429, 'rate_limited')
    assert.deepEqual([payment.taken, retry.action, retry.afterSeconds], [false, 'wait_same_credential', seconds])
    // Counting is told to the other replicas, and to the funnel, in a few strokes behind the requests; those that are let in share a reading of
    // the lots' notes and of pauses and blocks every two seconds, and nothing else touches the store.
    const [counting, others] = [
      statements.filter((sql) => sql.includes('rate_counters')),
      statements.filter((sql) => !sql.includes('rate_counters')),
    ]
    assert.deepEqual(
      others.filter((sql) => !sql.includes('jobs') && !BEHIND.test(sql)),
      [],
    )
    for (const shared of ['lot_notes', 'sale_restrictions', 'funnel_counts'])
      assert.ok(others.filter((sql) => sql.includes(shared)).length < 20, shared)
    assert.ok(counting.length > 0 && counting.length < 40, `${counting.length} statements`)
  })

  test('quotes and reads have allowances of their own', async () => {
    verifies('D9.2')
    nextMinute()
    const quotes = await flood(30, () => fetch(`${shop.url}/agentic/x402/quote`, post(lot)))
    assert.deepEqual([countOf(quotes, 200), countOf(quotes, 429)], [20, 10])
    const reads = await flood(70, () => fetch(`${shop.url}/payments/nothing`))
    assert.deepEqual([countOf(reads, 404), countOf(reads, 429)], [60, 10])
    assert.equal((await fetch(shop.url + BUY, post(lot))).status, 402)
    assert.equal((await fetch(`${shop.url}/health/live`)).status, 200)
  })

  test('R-01: report-tx is never limited, paid or not', async () => {
    verifies('4.2.6', '8.5')
    nextMinute()
    const report = { userId: 'player-1', txHash: `0x${'ab'.repeat(32)}` }
    // More than any allowance.
    const unpaid = await flood(130, (index) => fetch(`${shop.url}/x402/report-tx`, post(index % 2 ? report : {})))
    assert.equal(countOf(unpaid, 402), 130)
    const junk = await flood(35, () =>
      fetch(`${shop.url}/x402/report-tx`, post(report, { 'payment-signature': 'e30=' })),
    )
    assert.equal(countOf(junk, 400), 35)
  })
})

describe('payments', () => {
  // Chains and orders need time that goes by.
  let aheadMs = 0
  const clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
  let shop: TestShop
  let buyer: PrivateKeyAccount
  before(async () => {
    shop = await startShop({
      clock,
      configure: limitedTo({ failed: 3 }),
      waypoint: async (name) => {
        if (name === 'settle.begun') await begun()
      },
    })
    buyer = await fundedWallet(shop)
  })
  after(() => shop.stop())
  let begun = async (): Promise<void> => {}
  /** To the beginning of this caller's next window, so that none ends in the middle of a test. */
  const nextMinute = async () => {
    const { headers } = await fetch(shop.url + BUY, post(lot))
    aheadMs += 1_000 * Number(/t=(\d+)/.exec(headers.get('ratelimit')!)![1])
  }

  test('R-01: a caller whose payments are no good is stopped; a payment that we know is answered all the same', async () => {
    verifies('D9.2', 'D9.5')
    await nextMinute()
    const paid = (credential: string, body: object = lot) =>
      fetch(shop.url + BUY, post(body, { 'payment-signature': credential }))
    const credentialFor = async (body: object) =>
      x402UnderTest.pay(shop, buyer, await fetch(shop.url + BUY, post(body)))
    const known = await credentialFor(lot)
    assert.equal((await paid(known)).status, 200)
    const fresh = withoutClaim(await credentialFor({ ...lot, quantity: 2 }))
    const before = await x402UnderTest.balance(shop, buyer.address)
    for (let i = 0; i < 3; i++) assert.equal((await paid('e30=')).status, 400)
    const { payment } = await assertRefused(await paid(fresh, { ...lot, quantity: 2 }), 429, 'rate_limited')
    assert.equal(payment.taken, 'unknown')
    assert.equal(await x402UnderTest.balance(shop, buyer.address), before)
    const again = await paid(known)
    assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
    await nextMinute()
    assert.equal((await paid(fresh, { ...lot, quantity: 2 })).status, 200)
  })

  test('one payment may be shown again ten times a minute, and a storm at one moment counts as one', async () => {
    verifies('D9.3')
    const credential = await x402UnderTest.pay(shop, buyer, await fetch(shop.url + BUY, post(lot)))
    const paid = () => fetch(shop.url + BUY, post(lot, { 'payment-signature': credential }))
    // The first one is held until all of them are there: on a busy machine they would come one after the other.
    let arrived = 0
    const count = () => void arrived++
    subscribe('http.server.request.start', count)
    begun = () => until(() => arrived >= 20)
    const storm = await Promise.all(Array.from({ length: 20 }, paid))
    unsubscribe('http.server.request.start', count)
    assert.deepEqual([...new Set(storm.map(({ status }) => status))], [200])
    let shown = 0
    let last = await paid()
    while (last.status === 200) {
      shown++
      last = await paid()
    }
    // A window of its own may end in between; never are there more than two.
    assert.ok(shown <= 20, `${shown} more`)
    const { payment, retry } = await assertRefused(last, 429, 'rate_limited')
    assert.deepEqual([payment.taken, retry.action], ['unknown', 'wait_same_credential'])
    aheadMs += 61_000
    assert.equal((await paid()).status, 200)
  })
})

test('R-01: behind a proxy each caller has an allowance of their own, and cannot write themselves a new one', async () => {
  const shop = await startShop({ clock: leapingClock(), configure: limitedTo({ unpaid: 5 }, { proxyHops: 1 }) })
  try {
    const from = (forwarded: string) => fetch(shop.url + BUY, post(lot, { 'x-forwarded-for': forwarded }))
    const one = await flood(10, (index) => from(`10.${index}.0.1, 203.0.113.9`))
    assert.deepEqual([countOf(one, 402), countOf(one, 429)], [5, 5])
    const house = await flood(10, (index) => from(`2001:db8:1:2::${index}`))
    assert.deepEqual([countOf(house, 402), countOf(house, 429)], [5, 5])
    assert.equal((await from('203.0.113.10')).status, 402)
  } finally {
    await shop.stop()
  }
})

describe('R-01: three replicas', () => {
  test('count one caller together, within a tenth', async () => {
    verifies('D9.4')
    const store = talkingStore()
    const configure = limitedTo({ unpaid: 120 })
    const shop = await startShop({ clock: leapingClock(), configure, wrapDatabase: store.listen })
    try {
      const another = async () => shop.replica({ database: store.listen(await shop.store.replica()) })
      const urls = [shop.url, ...(await Promise.all([another(), another()])).map(({ url }) => url)]
      // How much a replica grants before it hears of the others is for the store's speed to say, which is not what is asked here.
      const answers = await flood(360, async (index) => {
        await store.hasAnswered()
        return fetch(urls[index % 3]! + BUY, post(lot))
      })
      const granted = countOf(answers, 402)
      assert.equal(granted + countOf(answers, 429), 360)
      assert.ok(granted >= 108 && granted <= 132, `${granted} of 120 were granted`)
    } finally {
      await shop.stop()
    }
  })

  test('each hold to their own count while the store takes none: less exact, never open', async () => {
    const away = () => Promise.reject(new Problem('store_unavailable', 'The store is away.'))
    const shop = await startShop({
      clock: leapingClock(),
      configure: limitedTo({}),
      wrapDatabase: (database) => withCounts(database, away),
    })
    try {
      const answers = await flood(100, () => fetch(shop.url + BUY, post(lot)))
      assert.deepEqual([countOf(answers, 402), countOf(answers, 429)], [40, 60])
    } finally {
      await shop.stop()
    }
  })
})

test('a shop with too much under way says so at once, and goes on', async () => {
  const shop = await startShop({ configure: (config) => ({ ...config, limits: { ...config.limits, requestsMax: 4 } }) })
  try {
    const answers = await flood(200, () => fetch(`${shop.url}/payments/nothing`))
    assert.ok(countOf(answers, 503) > 0)
    assert.equal(countOf(answers, 404) + countOf(answers, 503), 200)
    const shed = answers.get(503)![0]!
    assert.equal(shed.headers.get('retry-after'), '5')
    await assertRefused(shed, 503, 'overloaded')
    assert.equal((await fetch(`${shop.url}/payments/nothing`)).status, 404)
  } finally {
    await shop.stop()
  }
})
