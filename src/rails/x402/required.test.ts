import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { usd } from '../../base/money.ts'
import type { Resource, Terms } from '../../domain/rail.ts'
import { createRequired } from './required.ts'
import { bodyDigest, extensionsOf, type Money, requirementsOf, withClaim } from './terms.ts'

const money: Money = {
  network: 'eip155:84532',
  chainId: 84532,
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  assetName: 'USDC',
  assetVersion: '2',
  payTo: '0x189bB5971493aCc956eFf3Bd1Cb4c61E6037303c',
  maxTimeoutSeconds: 300,
}
const random = { bytes: (length: number) => new Uint8Array(length).fill(7) }
const CLAIM = Buffer.from(random.bytes(48)).toString('base64url')
const claims = { issue: () => CLAIM }
const text = fc.string({ unit: fc.constantFrom(...'abcXYZ019 _-.:/"\\,={}é€😀'), maxLength: 40 })
const resource: fc.Arbitrary<Resource> = fc.record({
  url: text.map((path) => `https://shop.example/${path}`),
  scope: fc.constantFrom('POST /buy', 'GET /health', 'MCP buy_item'),
  description: text,
  discovery: fc.option(
    fc.constant(() => ({ info: { note: 'é' } })),
    { nil: undefined },
  ),
})
const call: fc.Arbitrary<Omit<Terms, 'resource'>> = fc.record({
  price: fc.bigInt({ min: 1n, max: 10n ** 12n }).map(usd),
  body: fc.option(fc.uint8Array({ minLength: 1, maxLength: 64 })),
  bodyIsBound: fc.boolean(),
  flowId: fc.constant('flow_1'),
})

function documentOf(terms: Terms, error: string) {
  const { url, description } = terms.resource
  return {
    x402Version: 2,
    error,
    resource: { url, description, mimeType: 'application/json', serviceName: 'Shop' },
    accepts: [withClaim(requirementsOf(money, terms), CLAIM)],
    extensions: JSON.parse(JSON.stringify(extensionsOf(terms.resource, bodyDigest(terms)))),
  }
}

describe('what an x402 route asks for', () => {
  test('is the whole document, in the header and in the body, for whatever is called in whatever order', () => {
    fc.assert(
      fc.property(resource, fc.array(fc.tuple(call, text), { minLength: 1, maxLength: 8 }), (resource, calls) => {
        const required = createRequired({ money, serviceName: 'Shop', claims })(resource)
        for (const [call, reason] of [...calls, ...calls]) {
          const terms = { ...call, resource }
          const { members, header } = required(terms, reason)
          assert.deepEqual(JSON.parse(`{${members}}`), documentOf(terms, reason))
          assert.equal(header, Buffer.from(`{${members}}`).toString('base64'))
        }
      }),
    )
  })

  test('stays right when one route has had more prices than are kept', () => {
    const resource = { url: 'https://shop.example/buy', scope: 'POST /buy', description: 'Buy' }
    const required = createRequired({ money, serviceName: 'Shop', claims })(resource)
    for (let price = 1n; price <= 500n; price++) {
      const terms = { resource, price: usd(price), body: new Uint8Array([1]), bodyIsBound: true, flowId: 'flow_1' }
      assert.deepEqual(JSON.parse(`{${required(terms, 'Pay.').members}}`), documentOf(terms, 'Pay.'))
    }
  })
})
