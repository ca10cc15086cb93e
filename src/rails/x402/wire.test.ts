import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isProblem } from '../../base/problem.ts'
import { decodeHeader, decodeMeta, encode, identityOf } from './wire.ts'

const payload = {
  x402Version: 2,
  payload: {
    authorization: {
      from: `0x${'aB'.repeat(20)}`,
      to: `0x${'cD'.repeat(20)}`,
      value: '250000',
      validAfter: '0',
      validBefore: '1900000000',
      nonce: `0x${'eF'.repeat(32)}`,
    },
    signature: `0x${'12'.repeat(65)}`,
  },
  resource: { url: 'https://shop.test/buy', description: 'é😀' },
  accepted: { scheme: 'exact', amount: '250000', extra: { name: 'USDC', version: '2' } },
  extensions: { mppx: { info: { method: 'POST' }, schema: {} } },
}
const ASSET = `0x${'11'.repeat(20)}` as const
const nameOf = (header: string) => identityOf('eip155:84532', ASSET, decodeHeader(header).payload.authorization)

/** The same value in other words: keys in another order, other spaces, escapes, letters of hexadecimal digits in another case. */
function respelt(value: unknown, choose: () => number): string {
  const space = () => ['', ' ', '\n', '\t', '  '][choose() % 5]!
  const text = (raw: string) => {
    const cased = /^0x[0-9a-f]+$/i.test(raw) && choose() % 2 ? `0x${mixed(raw.slice(2), choose)}` : raw
    return JSON.stringify(cased).replace(/[a-z]/gi, (letter) =>
      choose() % 9 === 0 ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}` : letter,
    )
  }
  if (typeof value === 'string') return text(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value)
  for (let i = entries.length - 1; i > 0; i--) {
    const j = choose() % (i + 1)
    ;[entries[i], entries[j]] = [entries[j]!, entries[i]!]
  }
  const members = entries.map(
    ([key, item]) => `${space()}${JSON.stringify(key)}${space()}:${space()}${respelt(item, choose)}`,
  )
  return `{${members.join(',')}${space()}}`
}

function mixed(digits: string, choose: () => number): string {
  return digits.replace(/[a-f]/gi, (digit) => (choose() % 2 ? digit.toUpperCase() : digit.toLowerCase()))
}

/** `--spellings=10000` tries more. */
const SPELLINGS = Number(process.env['TEST_SPELLINGS'] ?? 500)

test(`I1: the identity of a payment is the same in ${SPELLINGS} spellings`, () => {
  const identity = nameOf(encode(payload))
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat()), (stream) => {
      const choose = () => stream.next().value!
      const header = Buffer.from(respelt(payload, choose)).toString('base64')
      assert.equal(nameOf(header), identity)
      assert.equal(
        identityOf('eip155:84532', ASSET, decodeMeta(JSON.parse(respelt(payload, choose))).payload.authorization),
        identity,
      )
    }),
    { numRuns: SPELLINGS },
  )
})

test('I1: nothing but payer and nonce makes the identity, on one token of one network', () => {
  const identity = nameOf(encode(payload))
  const { authorization } = payload.payload
  const changed = (change: object) =>
    nameOf(encode({ ...payload, payload: { ...payload.payload, authorization: { ...authorization, ...change } } }))
  for (const change of [{ to: ASSET }, { value: '1' }, { validAfter: '1' }, { validBefore: '2' }])
    assert.equal(changed(change), identity)
  assert.equal(nameOf(encode({ ...payload, payload: { ...payload.payload, signature: '0x00' } })), identity)
  assert.notEqual(changed({ from: ASSET }), identity)
  assert.notEqual(changed({ nonce: `0x${'00'.repeat(32)}` }), identity)
  const other = decodeHeader(encode(payload)).payload.authorization
  assert.notEqual(identityOf('eip155:8453', ASSET, other), identity)
  assert.notEqual(identityOf('eip155:84532', `0x${'22'.repeat(20)}`, other), identity)
})

test('I1: base64 has one alphabet, no junk and no missing end', () => {
  const good = encode(payload)
  for (const bad of [`${good} `, ` ${good}`, good.slice(0, -1), `${good}=`, good.replace('e', '-'), `${good}\n`, '='])
    assert.throws(
      () => decodeHeader(bad),
      (error) => isProblem(error, 'payment_payload_invalid'),
      JSON.stringify(bad.slice(-4)),
    )
})

test('E130: no header makes the decoder throw anything but its refusal', () => {
  const safe = (decode: () => unknown) => {
    try {
      decode()
    } catch (error) {
      assert.ok(isProblem(error, 'payment_payload_invalid'))
    }
  }
  fc.assert(
    fc.property(fc.string(), (text) => safe(() => decodeHeader(text))),
    { numRuns: 1_000 },
  )
  fc.assert(
    fc.property(fc.jsonValue(), (value) => safe(() => decodeHeader(encode(value)))),
    { numRuns: 1_000 },
  )
  fc.assert(
    fc.property(fc.jsonValue(), (value) => safe(() => decodeMeta({ ...payload, payload: value }))),
    { numRuns: 1_000 },
  )
})

test('over MCP the payload comes as an object, or as the header’s text', () => {
  assert.deepEqual(decodeMeta(payload), decodeHeader(encode(payload)))
  assert.deepEqual(decodeMeta(encode(payload)), decodeHeader(encode(payload)))
})
