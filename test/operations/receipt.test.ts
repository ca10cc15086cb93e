import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import { canonical, sha256Hex } from '../../src/base/json.ts'
import { type Jwks, readJwks, readSigningKey } from '../../src/base/jws.ts'
import { Secret } from '../../src/base/secret.ts'
import { verifyReceipt } from '../../src/checkout/receipt.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { buy, buyUrl, LOT, LOT_PRICE, status } from './desk.ts'

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

const jwksOf = async () => (await (await fetch(`${shop.url}/.well-known/jwks.json`)).json()) as Jwks

type Claims = {
  readonly iss: string
  readonly request: { readonly digest: string }
  readonly payment: {
    readonly transaction: string
    readonly amount: string
    readonly payer: string
    readonly network: string
  }
  readonly delivery: { readonly transaction: string; readonly digest: string }
  readonly purchase: { readonly nfts: unknown; readonly status: string; readonly price: object }
}

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
  test(`a confirmed order on ${rail.name} carries a receipt that binds request, payment, price and goods`, async () => {
    verifies('D6.8')
    const buyer = await fundedWallet(shop)
    const { body, credential } = await buy(shop, rail, buyer)
    const claims = verifyReceipt(body.receipt, await jwksOf()) as unknown as Claims
    const input = { ...LOT, quantity: 1, beneficiary: buyer.address }
    assert.equal(claims.iss, shop.url)
    assert.equal(claims.request.digest, `sha-256:${sha256Hex(canonical({ good: 'saleLot', rail: rail.rail, input }))}`)
    assert.equal(claims.payment.transaction, body.paymentTx)
    assert.equal(claims.payment.amount, LOT_PRICE.toString())
    assert.equal(claims.payment.payer.toLowerCase(), buyer.address.toLowerCase())
    assert.deepEqual(claims.purchase.nfts, body.nfts)
    assert.equal(claims.purchase.status, 'confirmed')
    assert.equal(claims.delivery.digest, `sha-256:${sha256Hex(canonical({ nfts: body.nfts }))}`)

    const again = await fetch(
      buyUrl(shop, rail),
      post({ ...LOT, beneficiary: buyer.address }, { [rail.header]: credential }),
    )
    assert.equal(((await again.json()) as typeof body).receipt, body.receipt, 'signed once, the same bytes ever after')
    const byOrder = await status(`${shop.url}/agentic/${rail.rail}/purchases/${body.orderId}`)
    assert.equal(byOrder.receipt, body.receipt)
  })

test('any other verifier comes to the same result: WebCrypto', async () => {
  const { body } = await buy(shop, x402UnderTest, await fundedWallet(shop))
  const [jwk] = (await jwksOf()).keys
  const [header, payload, signature] = body.receipt.split('.') as [string, string, string]
  const key = await crypto.subtle.importKey('jwk', { ...jwk! }, { name: 'ECDSA', namedCurve: 'P-256' }, false, [
    'verify',
  ])
  const holds = (signed: string) =>
    crypto.subtle.verify(
      { name: 'ECDSA', hash: 'SHA-256' },
      key,
      Buffer.from(signature, 'base64url'),
      Buffer.from(signed),
    )
  assert.equal(await holds(`${header}.${payload}`), true)
  assert.equal(await holds(`${header}.${payload}x`), false)
  assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), { alg: 'ES256', typ: 'JWT', kid: jwk!.kid })
})

test('a receipt with one changed letter, another key, another algorithm or no signature is refused', async () => {
  const { body } = await buy(shop, x402UnderTest, await fundedWallet(shop))
  const jwks = await jwksOf()
  const [header, payload, signature] = body.receipt.split('.') as [string, string, string]
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const forged = encode({ ...claims, payment: { ...claims.payment, amount: '1' } })
  const none = encode({ alg: 'none', kid: jwks.keys[0]!.kid })
  const other = readSigningKey(new Secret(`0x${'17'.repeat(32)}`))
  const refused = [
    `${header}.${forged}.${signature}`,
    `${none}.${payload}.`,
    `${none}.${payload}.${signature}`,
    `${header}.${payload}.${signature.slice(0, -4)}AAAA`,
    `${header}.${payload}`,
    other.sign(claims),
    '',
    'a.b.c',
  ]
  for (const jws of refused) assert.throws(() => verifyReceipt(jws, jwks), jws.slice(0, 40))
  assert.throws(() => verifyReceipt(other.sign({ iss: 'x' }), { keys: [other.jwk] }), /not a receipt/)
})

test('an order that was not delivered has no receipt', async () => {
  const { body } = await buy(shop, x402UnderTest, await fundedWallet(shop), { saleId: 399 })
  const order = await shop.service.checkout.orders.byId(body.orderId)
  assert.equal(order!.receipt, null)
})

test('the signing key is read from PEM, from a JWK or from its number, and from nothing else', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = readSigningKey(new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string))
  const sec1 = readSigningKey(new Secret(privateKey.export({ type: 'sec1', format: 'pem' }) as string))
  const jwk = privateKey.export({ format: 'jwk' })
  const fromJwk = readSigningKey(new Secret(JSON.stringify(jwk)))
  const number = readSigningKey(new Secret(`0x${Buffer.from(jwk.d!, 'base64url').toString('hex')}`))
  assert.deepEqual(new Set([pem, sec1, fromJwk, number].map((key) => key.jwk.kid)).size, 1)
  assert.equal('d' in pem.jwk, false, 'the published key is public')
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  for (const bad of ['', 'secret', '{}', `0x${'0'.repeat(64)}`, p384 as string])
    assert.throws(() => readSigningKey(new Secret(bad)))
})

test('a key that was retired still verifies what it signed', () => {
  verifies('D6.8')
  const old = readSigningKey(new Secret(`0x${'18'.repeat(32)}`))
  const published = readJwks(JSON.stringify({ keys: [old.jwk] }))
  const jws = old.sign({ iss: 'x', request: {}, payment: {}, delivery: {}, purchase: {} })
  assert.equal(verifyReceipt(jws, published)['iss'], 'x')
})
