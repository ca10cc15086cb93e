import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { problemSchema } from '../../src/api/http/problem-body.ts'
import { errorsMarkdown } from '../../src/api/pages/errors.ts'
import { type ProblemCode, problems } from '../../src/base/problem.ts'
import type { PaidRoute, Route } from '../../src/domain/route.ts'
import { filledIn, fundedWallet, post, x402Payer } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { assertRefused } from './wire.ts'

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

const rows = () => shop.service.routes
const paidRows = () => rows().filter((route): route is PaidRoute => route.kind === 'paid')
const postRows = () => rows().filter(({ method, path }) => method === 'POST' && !path.startsWith('/sandbox'))
const urlOf = ({ path }: Route) => shop.url + path.replace(/\{\w+\}/g, 'nothing')
const hasSchema = (route: Route) => route.body !== null

/** Each fault that every row with a body must answer alike, whatever it sells. */
const faults: readonly {
  readonly what: string
  readonly init: () => RequestInit
  readonly status: number
  readonly code: ProblemCode
  readonly of?: (route: Route) => boolean
}[] = [
  { what: 'a body that is no JSON', init: () => post('{"a":'), status: 400, code: 'invalid_json', of: hasSchema },
  { what: 'a key given twice', init: () => post('{"a":1,"a":2}'), status: 400, code: 'duplicate_key', of: hasSchema },
  {
    what: 'a body that nests too deep',
    init: () => post(`{"a":${'['.repeat(16)}${']'.repeat(16)}}`),
    status: 400,
    code: 'too_deep',
    of: hasSchema,
  },
  {
    what: 'a body of another type',
    init: () => ({ method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' }),
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    what: 'a compressed body',
    init: () => post({ a: 1 }, { 'content-encoding': 'gzip' }),
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    what: 'a body that is too large',
    init: () => post({ a: 'x'.repeat(33 * 1024) }),
    status: 413,
    code: 'body_too_large',
  },
  {
    what: 'an answer form that is not ours',
    init: () => post({}, { accept: 'text/html' }),
    status: 406,
    code: 'not_acceptable',
  },
  {
    what: 'a method that is not there',
    init: () => ({ ...post({}), method: 'PUT' }),
    status: 405,
    code: 'method_not_allowed',
  },
]

for (const { what, init, status, code, of = () => true } of faults) {
  test(`${what}: ${status} ${code} on every row, and nothing is taken`, async () => {
    verifies('D6.6', 'D8.1', 'D16.3')
    for (const route of postRows().filter(of)) {
      const response = await fetch(urlOf(route), init())
      const { headers } = response
      const { payment, type, retry } = await assertRefused(response, status, code)
      assert.equal(payment.taken, false)
      assert.equal(type, `${shop.url}/errors#${code}`)
      assert.equal(retry.action, problems[code].action)
      assert.equal(headers.get('access-control-allow-origin'), '*')
      assert.equal(headers.get('vary'), 'Authorization, PAYMENT-SIGNATURE, Origin, Accept')
      assert.match(headers.get('x-flow-id') ?? '', /^flow_/)
      if (status === 405) assert.match(headers.get('allow') ?? '', /OPTIONS/)
    }
  })
}

test('N-06: a property that no row knows is refused with its pointer, so that a typing mistake costs nothing', async () => {
  verifies('D3.1')
  for (const route of postRows().filter(hasSchema)) {
    const body = { ...(route.kind === 'paid' ? filledIn(route.example) : {}), zzz: 1 }
    const response = await fetch(urlOf(route), post(body))
    assert.equal(response.status, 400, route.path)
    const { errors } = problemSchema().parse(await response.json())
    assert.ok(
      errors.some(({ pointer, code }) => pointer === '/zzz' && code === 'unknown_property') || route.kind === 'free',
      route.path,
    )
  }
})

describe('402', () => {
  test('H-13: every paid row asks for money in its own protocol, in JSON, uncached, readable by browsers', async () => {
    verifies('4.0', '5.1', '5.2.1', '7.1', '7.2', 'D8.4', 'D9.6')
    for (const route of paidRows()) {
      for (const body of route.body ? [filledIn(route.example), {}] : [{}]) {
        const init = route.method === 'GET' ? {} : post(body)
        const response = await fetch(urlOf(route), init)
        // What does not exist or is gone has no price, and no example is good for ever.
        if (response.status !== 402) assert.fail(`${route.path} ${response.status} ${await response.text()}`)
        const { headers } = response
        const answer = problemSchema().parse(await response.json())
        assert.equal(answer.code, 'payment_required')
        assert.equal(answer.payment.taken, false)
        assert.equal(headers.get('content-type'), 'application/json')
        assert.equal(headers.get('cache-control'), 'no-store')
        assert.equal(headers.get('vary'), 'Authorization, PAYMENT-SIGNATURE, Origin, Accept')
        assert.equal(headers.get('access-control-allow-origin'), '*')
        assert.equal(headers.get('payment-receipt'), null)
        if (route.offer.rail.name === 'x402') {
          const required = JSON.parse(Buffer.from(headers.get('payment-required')!, 'base64').toString())
          for (const [key, value] of Object.entries(required)) assert.deepEqual(answer[key], value)
          assert.equal(required.resource.url, shop.url + route.path)
          assert.equal(required.accepts[0].maxTimeoutSeconds, 300)
        } else {
          assert.match(headers.get('www-authenticate')!, /^Payment id="/)
          assert.match(answer.type, /^https:\/\/paymentauth\.org\/problems\//)
          assert.ok(answer['challengeId'])
        }
      }
    }
  })

  test('a GET on a buy path tells the price and never sells', async () => {
    verifies('D2.1')
    for (const route of paidRows().filter(({ hasPriceProbe }) => hasPriceProbe)) {
      assert.equal((await fetch(urlOf(route))).status, 402)
      const header =
        route.offer.rail.name === 'x402' ? { 'payment-signature': 'e30=' } : { authorization: 'Payment e30' }
      await assertRefused(await fetch(urlOf(route), { headers: header }), 405, 'method_not_allowed')
    }
  })

  test('rows without parameters take no body, or {}', async () => {
    verifies('D5.14')
    for (const route of paidRows().filter(({ body, method }) => body === null && method === 'POST'))
      await assertRefused(await fetch(urlOf(route), post({ a: 1 })), 400, 'invalid_request')
  })
})

describe('N-04: exactly one payment', () => {
  const both: readonly [string, Record<string, string>][] = [
    ['both protocols at once', { 'payment-signature': 'e30=', authorization: 'Payment e30' }],
    ['two signatures in one line', { 'payment-signature': 'e30=, e30=' }],
    ['two credentials in one line', { authorization: 'Payment e30, Payment e30' }],
  ]
  for (const [what, headers] of both) {
    test(`${what}: 400 ambiguous_payment on every paid row`, async () => {
      verifies('D5.11')
      for (const route of paidRows()) {
        const init = route.method === 'GET' ? { headers } : post(filledIn(route.example), headers)
        const { payment } = await assertRefused(await fetch(urlOf(route), init), 400, 'ambiguous_payment')
        assert.equal(payment.taken, 'unknown')
        if (route.hasPriceProbe) await assertRefused(await fetch(urlOf(route), { headers }), 400, 'ambiguous_payment')
      }
    })
  }

  test('another scheme in Authorization is no payment', async () => {
    for (const route of paidRows()) {
      const headers = { authorization: 'Bearer abc' }
      const init = route.method === 'GET' ? { headers } : post(filledIn(route.example), headers)
      assert.equal((await fetch(urlOf(route), init)).status, 402)
    }
  })
})

describe('H-06: what may be kept', () => {
  test('a paid answer is private; a status is not stored; anonymous listings may be kept for a moment', async () => {
    verifies('D6.7')
    const buyer = await fundedWallet(shop)
    const bought = await x402Payer(buyer)(
      `${shop.url}/agentic/x402/buy`,
      post({ saleId: 392, beneficiary: buyer.address }),
    )
    assert.equal(bought.status, 200)
    assert.equal(bought.headers.get('cache-control'), 'private, no-store')
    assert.equal(bought.headers.get('vary'), 'Authorization, PAYMENT-SIGNATURE, Origin, Accept')
    const { statusUrl } = (await bought.json()) as { statusUrl: string }
    assert.equal((await fetch(statusUrl)).headers.get('cache-control'), 'no-store')
    const anonymous = await fetch(`${shop.url}/catalog`)
    assert.equal(anonymous.headers.get('cache-control'), 'public, max-age=30')
    const again = await fetch(`${shop.url}/catalog`, { headers: { 'if-none-match': anonymous.headers.get('etag')! } })
    assert.equal(again.status, 304)
    const personal = await fetch(`${shop.url}/catalog?nickname=Demo`)
    assert.equal(personal.headers.get('cache-control'), 'private, no-store')
  })
})

test('A-05: ids are 128 random bits; nothing counts up', async () => {
  verifies('D13.4')
  const ids = await Promise.all(
    Array.from(
      { length: 200 },
      async () => ((await (await fetch(`${shop.url}/nothing`)).json()) as { requestId: string }).requestId,
    ),
  )
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^req_[0-9a-hjkmnp-tv-z]{26}$/)
  // Every one of the first 25 letters (5 bits each) takes many values: none is a clock or a counter.
  for (let i = 4; i < 29; i++) assert.ok(new Set(ids.map((id) => id[i])).size > 20)
})

describe('/errors', () => {
  test('the recovery matrix is JSON for agents and a page for people, and has every code', async () => {
    verifies('D8.2', 'D16.1')
    const json = (await (await fetch(`${shop.url}/errors`)).json()) as { errors: { code: string }[] }
    assert.deepEqual(
      json.errors.map(({ code }) => code),
      Object.keys(problems),
    )
    const page = await fetch(`${shop.url}/errors`, { headers: { accept: 'text/html,*/*;q=0.8' } })
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.match(page.headers.get('content-security-policy')!, /^default-src 'none'/)
    assert.equal(page.headers.get('vary'), 'Accept')
    const html = await page.text()
    for (const code of Object.keys(problems)) assert.ok(html.includes(`id="${code}"`), code)
  })

  test('docs/errors.md is what the table prints', () => {
    verifies('D8.2')
    assert.equal(readFileSync('docs/errors.md', 'utf8'), errorsMarkdown(), 'run: npm run docs')
  })
})
