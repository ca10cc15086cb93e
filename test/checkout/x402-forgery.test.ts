import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { fundedWallet, post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { assertFree402, orderCount, said, verdict } from './counter.ts'
import { encoded, paymentFor, type Required, requiredOf, type X402Payment } from './x402-wallet.ts'

// Everything in an x402 payment but the authorization is an unsigned echo. Whatever of it is not as we asked for it costs nobody anything.

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

let shop: TestShop
let payer: PrivateKeyAccount
before(async () => {
  shop = await startShop()
  payer = await fundedWallet(shop)
})
after(() => shop.stop())

const url = () => `${shop.url}/agentic/x402/buy`
const lot = () => ({ saleId: 392, beneficiary: payer.address })
const ask = async (): Promise<Required> => requiredOf(await fetch(url(), post(lot())))
const show = (payment: X402Payment | string) =>
  fetch(url(), post(lot(), { 'payment-signature': typeof payment === 'string' ? payment : encoded(payment) }))

describe('M-08: other terms than ours are refused, and nothing is settled or written', () => {
  const accepted = (change: object) => (payment: X402Payment) => ({
    ...payment,
    accepted: { ...(payment.accepted as object), ...change },
  })
  const extra = (change: object) => (payment: X402Payment) => {
    const old = payment.accepted as { extra: object }
    return { ...payment, accepted: { ...old, extra: { ...old.extra, ...change } } }
  }
  const other = '0x1111111111111111111111111111111111111111'
  for (const [what, code, change] of [
    ['scheme', 'payment_terms_mismatch', accepted({ scheme: 'upto' })],
    ['network', 'payment_terms_mismatch', accepted({ network: 'eip155:8453' })],
    ['amount', 'payment_amount_mismatch', accepted({ amount: '1' })],
    ['amount as a number', 'payment_amount_mismatch', accepted({ amount: 250_000 })],
    ['asset', 'payment_terms_mismatch', accepted({ asset: other })],
    ['payTo', 'payment_terms_mismatch', accepted({ payTo: other })],
    ['maxTimeoutSeconds', 'payment_terms_mismatch', accepted({ maxTimeoutSeconds: 9_999 })],
    ['extra', 'payment_terms_mismatch', accepted({ extra: undefined })],
    ['extra.name', 'payment_terms_mismatch', extra({ name: 'EURC' })],
    ['extra.version', 'payment_terms_mismatch', extra({ version: '1' })],
    ['extra.paymentFlow', 'payment_terms_mismatch', extra({ paymentFlow: 'authorization' })],
    [
      'resource.url',
      'payment_terms_mismatch',
      (p: X402Payment) => ({ ...p, resource: { url: 'https://else.where/' } }),
    ],
  ] as const) {
    test(`accepted or resource: ${what}`, async () => {
      const before = await orderCount(shop)
      await assertFree402(shop, await show(change(await paymentFor(payer, await ask()))), code, before)
    })
  }

  for (const [what, code, value] of [
    ['one unit less', 'payment_amount_mismatch', '249999'],
    ['one unit more', 'payment_amount_mismatch', '250001'],
    ['nothing', 'payment_amount_mismatch', '0'],
    ['the largest number', 'payment_amount_mismatch', (2n ** 256n - 1n).toString()],
  ] as const) {
    test(`M-08: a signed authorization of ${what}`, async () => {
      const before = await orderCount(shop)
      const payment = await paymentFor(payer, await ask(), { authorization: { value } })
      await assertFree402(shop, await show(payment), code, before)
      await assertFree402(shop, await show(accepted({ amount: value })(payment)), code, before)
    })
  }

  test('a signed authorization to somebody else', async () => {
    const payment = await paymentFor(payer, await ask(), { authorization: { to: other } })
    await assertFree402(shop, await show(payment), 'payment_terms_mismatch', await orderCount(shop))
  })

  for (const [what, domain] of [
    ['name', { name: 'EURC' }],
    ['version', { version: '1' }],
    ['chain', { chainId: 8453 }],
    ['token', { verifyingContract: other }],
  ] as const) {
    test(`a signature under another domain: ${what}`, async () => {
      const payment = await paymentFor(payer, await ask(), { domain })
      await assertFree402(shop, await show(payment), 'payment_verification_failed', await orderCount(shop))
    })
  }
})

describe('N-20: what is not the payer’s own signature is refused', () => {
  const spelt = (payment: X402Payment, signature: Hex): X402Payment => ({
    ...payment,
    payload: { ...payment.payload, signature },
  })
  const parts = ({ payload: { signature } }: X402Payment) => ({
    r: signature.slice(2, 66),
    s: BigInt(`0x${signature.slice(66, 130)}`),
    v: Number.parseInt(signature.slice(130), 16),
  })
  for (const [what, respell] of [
    ['high s', ({ r, s, v }) => `0x${r}${(ORDER - s).toString(16).padStart(64, '0')}${v === 27 ? '1c' : '1b'}`],
    ['v of 0 or 1', ({ r, s, v }) => `0x${r}${s.toString(16).padStart(64, '0')}0${v - 27}`],
    ['64 bytes', ({ r, s }) => `0x${r}${s.toString(16).padStart(64, '0')}`],
    ['zero r', ({ s }) => `0x${'0'.repeat(64)}${s.toString(16).padStart(64, '0')}1b`],
    ['zero s', ({ r }) => `0x${r}${'0'.repeat(64)}1b`],
    ['r beyond the order', ({ s }) => `0x${'f'.repeat(64)}${s.toString(16).padStart(64, '0')}1b`],
    ['one byte', () => '0x00'],
    ['ERC-6492', ({ r }) => `0x${r}${'6492'.repeat(16)}`],
    ['two KiB of anything', () => `0x${'ab'.repeat(2_000)}`],
  ] satisfies readonly (readonly [string, (parts: { r: string; s: bigint; v: number }) => Hex])[]) {
    test(`I1: ${what}`, async () => {
      const before = await orderCount(shop)
      const payment = await paymentFor(payer, await ask())
      const response = await show(spelt(payment, respell(parts(payment))))
      await assertFree402(shop, response, 'payment_verification_failed', before)
      // The payment itself is not burnt by its bad spelling; and once it is used, the bad spelling reads nothing.
      assert.equal((await show(payment)).status, 200)
      assert.deepEqual(await verdict(await show(spelt(payment, respell(parts(payment))))), [409, 'payment_conflict'])
    })
  }

  for (const field of ['from', 'validAfter', 'validBefore', 'nonce'] as const) {
    test(`an authorization whose ${field} was changed after it was signed`, async () => {
      const payment = await paymentFor(payer, await ask())
      const { authorization } = payment.payload
      const value = {
        from: privateKeyToAccount(generatePrivateKey()).address,
        validAfter: '1',
        validBefore: String(Number(authorization.validBefore) - 1),
        nonce: generatePrivateKey(),
      }[field]
      const changed = {
        ...payment,
        payload: { ...payment.payload, authorization: { ...authorization, [field]: value } },
      }
      await assertFree402(shop, await show(changed), 'payment_verification_failed', await orderCount(shop))
    })
  }

  test('nobody can use up the payment of somebody else, nor read its answer', async () => {
    const payment = await paymentFor(payer, await ask())
    const forged = await paymentFor(await fundedWallet(shop), await ask(), {
      authorization: payment.payload.authorization,
    })
    assert.deepEqual(await verdict(await show(forged)), [402, 'payment_verification_failed'])
    assert.equal((await show(payment)).status, 200)
    const peek = await show(forged)
    assert.equal(peek.status, 409)
    assert.equal((await said(peek)).orderId, undefined)
  })
})

describe('E130: a header that cannot be read is 400, and nothing is asked of anybody', () => {
  const good = async () => paymentFor(payer, await ask())
  const corpus: readonly (readonly [string, (payment: X402Payment) => string])[] = [
    ['empty', () => ''],
    ['not base64', () => '!!!!'],
    ['base64url', (p) => `${Buffer.from(JSON.stringify(p)).toString('base64url')}-_`],
    ['base64 with junk', (p) => `${encoded(p)}\t=`],
    ['cut', (p) => encoded(p).slice(0, -5)],
    ['not JSON', () => encoded('{')],
    ['an array', () => encoded([])],
    ['null', () => encoded('null')],
    ['text', () => encoded('"x"')],
    ['bad UTF-8', () => Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString('base64')],
    ['a key twice', (p) => encoded(JSON.stringify(p).replace('{', '{"x402Version":2,'))],
    ['too deep', (p) => encoded({ ...p, extensions: JSON.parse('['.repeat(30) + ']'.repeat(30)) })],
    ['version 1', (p) => encoded({ x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload: p.payload })],
    ['version 3', (p) => encoded({ ...p, x402Version: 3 })],
    ['version as text', (p) => encoded({ ...p, x402Version: '2' })],
    ['no resource', ({ resource: _, ...p }) => encoded(p)],
    ['no accepted', ({ accepted: _, ...p }) => encoded(p)],
    ['no payload', ({ payload: _, ...p }) => encoded(p)],
    ['accepted as an array', (p) => encoded({ ...p, accepted: [p.accepted] })],
    ['extensions as text', (p) => encoded({ ...p, extensions: 'x' })],
    ['resource without url', (p) => encoded({ ...p, resource: {} })],
    ['no authorization', (p) => encoded({ ...p, payload: { signature: p.payload.signature } })],
    ['no signature', (p) => encoded({ ...p, payload: { authorization: p.payload.authorization } })],
    ['half a byte of signature', (p) => encoded({ ...p, payload: { ...p.payload, signature: '0xabc' } })],
    ['3 KiB of signature', (p) => encoded({ ...p, payload: { ...p.payload, signature: `0x${'ab'.repeat(3_000)}` } })],
    ['13 KiB in all', (p) => encoded({ ...p, extensions: { x: 'y'.repeat(10_000) } })],
    ...(['from', 'to', 'value', 'validAfter', 'validBefore', 'nonce'] as const).flatMap((field) =>
      [undefined, 7, '', '0x', '-1', '1e3', '01', '0x1g'].map(
        (value): readonly [string, (payment: X402Payment) => string] => [
          `${field} of ${JSON.stringify(value)}`,
          (p) =>
            encoded({ ...p, payload: { ...p.payload, authorization: { ...p.payload.authorization, [field]: value } } }),
        ],
      ),
    ),
  ]
  test('the corpus', async () => {
    const payment = await good()
    const before = await orderCount(shop)
    for (const [what, write] of corpus) {
      const response = await show(write(payment))
      const { code, payment: money } = await said(response)
      assert.deepEqual([response.status, code, money.taken], [400, 'payment_payload_invalid', false], what)
    }
    assert.equal(await orderCount(shop), before)
    assert.equal((await show(payment)).status, 200)
  })
})
