import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { problemSchema } from '../../src/api/http/problem-body.ts'
import type { ProblemCode } from '../../src/base/problem.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { edited, mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { ask, assertProblem, assertRefused } from './wire.ts'

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

const DEAD = '0x000000000000000000000000000000000000dEaD'
const lot = { saleId: 391, beneficiary: DEAD }
const send = (path: string, body: unknown) => fetch(shop.url + path, post(body))
const sendBytes = (path: string, body: Uint8Array<ArrayBuffer>) =>
  fetch(shop.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
const BUY = '/agentic/x402/buy'

async function codes(response: Response): Promise<readonly string[]> {
  const { code, errors } = problemSchema().parse(await response.json())
  return [code, ...errors.map((error) => error.code)]
}

describe('JSON', () => {
  const malformed: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>> = {
    'half an object': '{"saleId":391',
    'single quotes': "{'saleId':391}",
    NaN: '{"saleId":NaN}',
    'a comment': '{"saleId":391}//x',
    'a leading zero': '{"saleId":0391}',
    'a control character in a text': '{"beneficiary":"a\u0001"}',
    'a lone surrogate, escaped': '{"beneficiary":"\\ud800"}',
    'a byte order mark': Buffer.from('\ufeff{"saleId":391}'),
    'bytes that are not UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    'an overlong encoding': Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]),
    'UTF-16': Buffer.from('{"saleId":391}', 'utf16le'),
  }
  test('N-01: what is no JSON is refused', async () => {
    verifies('D3.2')
    for (const body of Object.values(malformed)) {
      const response = typeof body === 'string' ? await send(BUY, body) : await sendBytes(BUY, body)
      await assertRefused(response, 400, 'invalid_json')
    }
  })

  test('N-01: JSON that is no object matches no request', async () => {
    for (const body of ['[]', '1', '"x"', 'true', 'null'])
      await assertRefused(await send(BUY, body), 400, 'invalid_request')
  })

  test('N-02: sixteen levels are read, one more is not, and two hundred thousand hurt nobody', async () => {
    verifies('D3.2', 'D9.1')
    const nested = (depth: number) => `{"saleId":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
    await assertRefused(await send(BUY, nested(16)), 400, 'invalid_request')
    await assertRefused(await send(BUY, nested(17)), 400, 'too_deep')
    // A body of 32 KiB holds no more than this many.
    await assertRefused(await send(BUY, nested(16_000)), 400, 'too_deep')
  })

  test('N-04: a key given twice is refused at any depth and in any spelling', async () => {
    verifies('D3.2')
    for (const body of [
      '{"quantity":1,"quantity":9}',
      '{"quantity":1,"quant\\u0069ty":9}',
      '{"user":"x","nfts":[{"contract":"a","contract":"b"}]}',
      '{"":1,"":2}',
    ])
      await assertRefused(await send('/craft/x402/quote', body), 400, 'duplicate_key')
  })

  test('N-01: names that objects inherit are unknown properties, and leave no trace', async () => {
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
      await assertRefused(
        await send(BUY, `{"saleId":391,"beneficiary":"${DEAD}","${key}":{"polluted":true}}`),
        400,
        'unknown_property',
      )
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
    const query = await fetch(`${shop.url}/agentic/x402/quote?__proto__=1&saleId=391`)
    assert.equal(query.status, 400)
  })
})

describe('fields', () => {
  // The fields of the craft routes have tests of their own.
  const bad: Readonly<Record<string, readonly [path: string, body: unknown, code: ProblemCode][]>> = {
    'N-06: a quantity is a whole number in its bounds': [
      [BUY, { ...lot, quantity: 0 }, 'quantity_out_of_range'],
      [BUY, { ...lot, quantity: 101 }, 'quantity_out_of_range'],
      [BUY, { ...lot, quantity: 1.5 }, 'invalid_request'],
      [BUY, { ...lot, quantity: '1' }, 'invalid_request'],
      [BUY, `{"saleId":391,"beneficiary":"${DEAD}","quantity":1e400}`, 'invalid_request'],
      [BUY, `{"saleId":391,"beneficiary":"${DEAD}","quantity":9007199254740993}`, 'invalid_request'],
    ],
    'N-06: an address has its length and its checksum, and is not zero': [
      [BUY, { ...lot, beneficiary: '0x000000000000000000000000000000000000DeAd' }, 'bad_checksum'],
      [BUY, { ...lot, beneficiary: `0x${'0'.repeat(40)}` }, 'invalid_beneficiary'],
      [BUY, { ...lot, beneficiary: `0x${'0'.repeat(39)}` }, 'invalid_request'],
      [BUY, { ...lot, beneficiary: `${DEAD}\n` }, 'invalid_request'],
    ],
    'N-06: a name is short, and has no letters that nobody sees': [
      ...['', 'x'.repeat(65), 'a\u202eb', 'a\u200bb', 'a\u0000b', 'a\nb', '\ufeffa'].map(
        (nickname): [string, unknown, ProblemCode] => [
          '/shop/x402/buy',
          { itemId: 'keys:5', nickname },
          'invalid_request',
        ],
      ),
      ['/shop/x402/buy', { itemId: 'a\u0000b', nickname: 'Ada' }, 'invalid_request'],
    ],
  }
  for (const [rule, cases] of Object.entries(bad)) {
    test(rule, async () => {
      verifies('D3.3', 'D9.1')
      for (const [path, body, code] of cases) {
        const response = await send(path, body)
        assert.equal(response.status, 400)
        assert.ok((await codes(response)).includes(code), JSON.stringify(body))
      }
    })
  }

  test('N-06: 1.0 is 1', async () => {
    assert.equal((await send(BUY, `{"saleId":391,"beneficiary":"${DEAD}","quantity":1.0}`)).status, 402)
  })

  test('N-06: an address in one case needs no checksum', async () => {
    verifies('D3.3')
    for (const beneficiary of [DEAD.toLowerCase(), `0x${DEAD.slice(2).toUpperCase()}`, DEAD])
      assert.equal((await send(BUY, { ...lot, beneficiary })).status, 402)
  })

  test('N-06: letters that look alike are different names, and nobody is guessed at', async () => {
    await assertRefused(
      await send('/shop/x402/buy', { itemId: 'keys:5', nickname: 'Dem\u043e' }),
      404,
      'recipient_not_found',
    )
    assert.notEqual((await send('/shop/x402/buy', { itemId: 'keys:5', nickname: '😀'.repeat(64) })).status, 400)
  })

  test('N-02: no text keeps a pattern busy: a slow one would hold up this very test', async () => {
    const long = 'a'.repeat(10_000)
    for (const body of [
      { ...lot, beneficiary: `0x${long}` },
      { itemId: long, nickname: long },
      { userId: long, txHash: `0x${long}` },
      { user: `0x${long}`, amount: `1${'0'.repeat(10_000)}` },
    ])
      for (const path of [BUY, '/shop/x402/buy', '/craft/x402/burn', '/x402/report-tx'])
        assert.equal((await send(path, body)).status, 400)
    const accept = `${'text/html;q=0.1,'.repeat(500)}x`
    await fetch(`${shop.url}${BUY}`, post(lot, { accept }))
  })
})

describe('payments that cannot be read', () => {
  const pay = (rail: 'x402' | 'mpp', value: string) =>
    fetch(
      `${shop.url}/agentic/${rail}/buy`,
      post(lot, rail === 'x402' ? { 'payment-signature': value } : { authorization: value }),
    )
  const base64 = (value: unknown) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64')

  test('E130: an x402 payment that is not one is 400, whatever is wrong with it', async () => {
    const buyer = await fundedWallet(shop)
    const good = await x402UnderTest.pay(shop, buyer, await send(BUY, lot))
    const without = (key: string) => edited(good, (value) => ({ ...value, [key]: undefined }))
    for (const value of [
      '!!!',
      'e30',
      good.slice(0, -1),
      `${good}=`,
      `${good.slice(0, 8)} ${good.slice(8)}`,
      base64('no json'),
      base64('{"a":1,"a":2}'),
      base64([]),
      base64('null'),
      base64({ x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload: {} }),
      without('resource'),
      without('accepted'),
      without('payload'),
      edited(good, (value) => ({ ...value, x402Version: '2' })),
      'A'.repeat(12 * 1024 + 4),
    ]) {
      const { payment } = await assertRefused(await pay('x402', value), 400, 'payment_payload_invalid')
      assert.equal(payment.taken, false)
    }
    assert.equal((await pay('x402', good)).status, 200)
  })

  test('E130: an MPP credential that is not one is 402 with a challenge; another scheme is no payment', async () => {
    for (const value of [
      'Payment !!!',
      'Payment e30',
      `Payment ${base64([])}`,
      'Payment bm9uc2Vuc2U',
      `payment ${base64({ challenge: {} })}`,
    ]) {
      const response = await pay('mpp', value)
      assert.ok(response.headers.get('www-authenticate'))
      const { code, payment } = problemSchema().parse(await response.json())
      assert.deepEqual([response.status, code, payment.taken], [402, 'malformed_credential', false])
    }
    for (const value of ['Bearer abc', 'Basic YTpi', 'Payments x', 'Payment']) {
      const response = await pay('mpp', value)
      const { code } = problemSchema().parse(await response.json())
      assert.deepEqual([response.status, code], [402, 'payment_required'])
    }
  })

  test('N-04: the same header on two lines is ambiguous, though Node would show one', async () => {
    verifies('D5.11')
    const buyer = await fundedWallet(shop)
    const body = JSON.stringify(lot)
    for (const rail of [x402UnderTest, mppPullUnderTest]) {
      const path = `/agentic/${rail.rail}/buy`
      const credential = await rail.pay(shop, buyer, await send(path, lot))
      const line = `${rail.header}: ${credential}\r\n`
      const head = `POST ${path} HTTP/1.1\r\n${line}${line}Content-Type: application/json\r\nContent-Length: ${body.length}`
      assertProblem(await ask(shop, head, body), 400, 'ambiguous_payment')
    }
  })

  test('N-20: only the signature as the wallet makes it is taken', async () => {
    const buyer = await fundedWallet(shop)
    const good = await x402UnderTest.pay(shop, buyer, await send(BUY, lot))
    const before = await x402UnderTest.balance(shop, buyer.address)
    const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const resigned = (change: (r: string, s: string, v: string) => string) =>
      edited(good, (value) => {
        const { payload } = value as unknown as { payload: { signature: string } }
        const hex = payload.signature.slice(2)
        return {
          ...value,
          payload: { ...payload, signature: `0x${change(hex.slice(0, 64), hex.slice(64, 128), hex.slice(128))}` },
        }
      })
    const highS = (s: string) => (ORDER - BigInt(`0x${s}`)).toString(16).padStart(64, '0')
    for (const [what, value] of Object.entries({
      'high s': resigned((r, s, v) => r + highS(s) + (v === '1b' ? '1c' : '1b')),
      'v of 0 or 1': resigned((r, s, v) => r + s + (v === '1b' ? '00' : '01')),
      'other v': resigned((r, s, v) => r + s + (v === '1b' ? '1c' : '1b')),
      compact: resigned((r, s) => r + s),
      zeros: resigned(() => '0'.repeat(130)),
      'wrapped for a wallet that is not deployed': resigned((r, s, v) => r + s + v + '6492'.repeat(16)),
    })) {
      const response = await pay('x402', value)
      assert.equal(response.status, 402, what)
      assert.equal(problemSchema().parse(await response.json()).code, 'payment_verification_failed', what)
    }
    await assertRefused(
      await pay(
        'x402',
        resigned((r, s, v) => r + s + v + 'ab'.repeat(3_000)),
      ),
      400,
      'payment_payload_invalid',
    )
    assert.equal(await x402UnderTest.balance(shop, buyer.address), before)
    assert.equal((await pay('x402', good)).status, 200)
  })
})
