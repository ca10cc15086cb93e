import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { BodyDigest, Credential, Receipt, Challenge as Stock } from 'mppx'
import { Secret } from '../../base/secret.ts'
import {
  bodyDigest,
  type ChallengeInput,
  isOurs,
  issueChallenge,
  nativeChallenge,
  serializeChallenge,
} from './challenge.ts'
import { decodeHeader, decodeMeta, encodeReceipt } from './wire.ts'

// Our own codec against the protocol's library, byte for byte and both ways.

const SECRET_TEXT = 'a secret of at least thirty-two characters'
const secret = new Secret(SECRET_TEXT)

const hex = (length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as const)
const text = fc.string({ unit: fc.constantFrom(...'abcXYZ019 _-.:/"\\,=é€😀'), maxLength: 40 })
const ascii = fc.string({ unit: fc.constantFrom(...'abc XYZ019_-.:/"\\,='), minLength: 1, maxLength: 60 })

const plain = { noNullPrototype: true }
const input: fc.Arbitrary<ChallengeInput> = fc.record({
  realm: fc.domain(),
  request: fc.record(
    {
      amount: fc.bigInt({ min: 1n, max: 10n ** 30n }).map(String),
      currency: hex(20),
      recipient: hex(20),
      externalId: text,
      methodDetails: fc.oneof(
        fc.constant({ chainId: 42431 }),
        fc.constant({ chainId: 42431, supportedModes: ['pull'] as const }),
      ),
    },
    plain,
  ),
  binding: fc.record({ flow: text, nonce: ascii, scope: ascii }, plain),
  description: ascii,
  digest: fc.option(fc.uint8Array({ maxLength: 64 }).map(bodyDigest)),
  expiresAt: fc
    .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
    .map((date) => date.getTime()),
})

function stockOf({ realm, request, binding, description, digest, expiresAt }: ChallengeInput) {
  return Stock.from({
    realm,
    method: 'tempo',
    intent: 'charge',
    request,
    description,
    ...(digest === null ? {} : { digest }),
    expires: new Date(expiresAt).toISOString(),
    meta: binding,
    secretKey: SECRET_TEXT,
  })
}

describe('a challenge', () => {
  test('has the id and the header that mppx would give it', () => {
    fc.assert(
      fc.property(input, (given) => {
        const ours = issueChallenge(given, secret)
        const stock = stockOf(given)
        assert.equal(ours.id, stock.id)
        assert.equal(serializeChallenge(ours), Stock.serialize(stock))
      }),
      { numRuns: 500 },
    )
  })

  test('is read and verified by mppx, and what mppx issues is ours', () => {
    fc.assert(
      fc.property(input, (given) => {
        const header = serializeChallenge(issueChallenge(given, secret))
        const read = Stock.deserialize(header)
        assert.ok(Stock.verify(read, { secretKey: SECRET_TEXT }))
        const credential = Credential.serialize({
          challenge: stockOf(given),
          payload: { type: 'hash', hash: `0x${'ab'.repeat(32)}` },
        })
        const { challenge, request, binding } = decodeHeader(credential)!
        assert.ok(isOurs(challenge, [secret]))
        assert.deepEqual(request, given.request)
        assert.deepEqual(binding, given.binding)
      }),
      { numRuns: 300 },
    )
  })

  test('M-13: is ours under any secret that is still good, and under no other', () => {
    const [old, fresh] = [new Secret('the secret before the last rotation, long'), secret]
    const given = fc.sample(input, 1)[0]!
    const issued = issueChallenge(given, old)
    assert.ok(isOurs(issued, [fresh, old]))
    assert.ok(!isOurs(issued, [fresh]))
    assert.ok(!isOurs({ ...issued, id: '' }, [old]))
  })

  test('M-13: with any part changed it is nobody’s', () => {
    const issued = issueChallenge({ ...fc.sample(input, 1)[0]!, digest: bodyDigest(Buffer.from('x')) }, secret)
    for (const part of ['id', 'realm', 'method', 'intent', 'request', 'digest', 'expires', 'opaque'] as const)
      assert.ok(!isOurs({ ...issued, [part]: `${issued[part]}x` }, [secret]), part)
    const { digest: _, ...without } = issued
    assert.ok(!isOurs(without, [secret]))
    // Shown to people, and bound by nothing: it may be translated on the way.
    assert.ok(isOurs({ ...issued, description: 'other words' }, [secret]))
  })

  test('over MCP it is the same challenge in native JSON, and comes back as ours', () => {
    fc.assert(
      fc.property(input, (given) => {
        const issued = issueChallenge(given, secret)
        const native = JSON.parse(JSON.stringify(nativeChallenge(issued)))
        assert.deepEqual(native.request, given.request)
        const { challenge } = decodeMeta({ challenge: native, payload: { type: 'hash', hash: `0x${'ab'.repeat(32)}` } })
        assert.ok(isOurs(challenge, [secret]))
        assert.equal(Stock.Schema.parse(native).id, issued.id)
      }),
      { numRuns: 200 },
    )
  })
})

test('a body digest is the one that mppx computes', () => {
  fc.assert(
    fc.property(fc.string(), (body) => {
      assert.equal(bodyDigest(Buffer.from(body)), BodyDigest.compute(body))
      assert.ok(BodyDigest.verify(bodyDigest(Buffer.from(body)) as never, body))
    }),
    { numRuns: 200 },
  )
})

test('a receipt is read by mppx', () => {
  const receipt = {
    method: 'tempo',
    reference: `0x${'ab'.repeat(32)}`,
    status: 'success',
    timestamp: '2026-01-01T00:00:00.000Z',
    orderId: 'ord_1',
  }
  const read = Receipt.deserialize(encodeReceipt(receipt))
  assert.deepEqual([read.method, read.reference, read.status], ['tempo', receipt.reference, 'success'])
})
