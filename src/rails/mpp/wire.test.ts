import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isProblem, problems } from '../../base/problem.ts'
import { encodeJson } from './challenge.ts'
import { decodeHeader, decodeMeta, problemUri } from './wire.ts'

const challenge = {
  id: 'id',
  realm: 'shop',
  method: 'tempo',
  intent: 'charge',
  request: encodeJson({ amount: '1' }),
  expires: '2026-01-01T00:00:00Z',
  opaque: encodeJson({ flow: 'f', nonce: 'n', scope: 's' }),
}
const payload = { type: 'hash', hash: `0x${'AB'.repeat(32)}` }
const header = (value: unknown) =>
  `Payment ${Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')}`

const refuses = (decode: () => unknown, what: string) =>
  assert.throws(decode, (error) => isProblem(error, 'malformed_credential'), what)

test('E130: another scheme is no payment, and is left alone', () => {
  for (const other of ['Bearer abc', 'Basic eA==', 'Payments abc', 'PaymentX abc', '', 'Payment'])
    assert.equal(decodeHeader(other), null, other)
})

test('a credential is read whatever the case of its scheme, and a hash in lower case', () => {
  for (const scheme of ['Payment', 'payment', 'PAYMENT  ']) {
    const read = decodeHeader(header({ challenge, payload }).replace('Payment', scheme))
    assert.deepEqual(read?.proof, { mode: 'push', hash: `0x${'ab'.repeat(32)}` })
  }
})

test('E130: what cannot be read is refused as malformed', () => {
  for (const [what, value] of [
    ['not base64url', 'Payment a+b/'],
    ['not JSON', header('{')],
    ['bad UTF-8', `Payment ${Buffer.from([0xff, 0xfe]).toString('base64url')}`],
    ['a key twice', header(`{"challenge":{},"challenge":{}}`)],
    ['an array', header([])],
    ['null', header('null')],
    ['no challenge', header({ payload })],
    ['no payload', header({ challenge })],
    ['a long one', header({ challenge, payload, source: 'x'.repeat(13_000) })],
    ['a request that is no object', header({ challenge: { ...challenge, request: encodeJson('x') }, payload })],
    ['a request that is no JSON', header({ challenge: { ...challenge, request: 'AAAA' }, payload })],
    ['an unknown payload', header({ challenge, payload: { type: 'proof', signature: '0x00' } })],
    ['a short hash', header({ challenge, payload: { type: 'hash', hash: '0x12' } })],
    ['another transaction type', header({ challenge, payload: { type: 'transaction', signature: '0x02ab' } })],
  ] as const)
    refuses(() => decodeHeader(value), what)
  for (const field of Object.keys(challenge))
    for (const value of [undefined, 7, '', null])
      refuses(() => decodeMeta({ challenge: { ...challenge, [field]: value }, payload }), `${field} of ${value}`)
})

test('E130: no bytes make the decoder throw anything else', () => {
  const safe = (decode: () => unknown) => {
    try {
      decode()
    } catch (error) {
      assert.ok(isProblem(error, 'malformed_credential'))
    }
  }
  fc.assert(
    fc.property(fc.string(), (text) => safe(() => decodeHeader(`Payment ${text}`))),
    { numRuns: 1_000 },
  )
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      safe(() => decodeHeader(header({ challenge: one, payload: other })))
      safe(() => decodeMeta({ challenge: { ...challenge, request: one }, payload: other }))
    }),
    { numRuns: 1_000 },
  )
})

test('every 402 has a problem type of the protocol', () => {
  for (const [code, { status }] of Object.entries(problems))
    if (status === 402) assert.match(problemUri(code as never), /^https:\/\/paymentauth\.org\/problems\/[a-z-]+$/)
})
