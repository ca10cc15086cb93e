import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAddress } from 'viem/accounts'
import { systemClock } from '../../src/base/clock.ts'
import { isAuthorizationUsed } from '../../src/chain/eip3009.ts'
import { createRpc } from '../../src/chain/rpc.ts'
import { providerTransport } from '../../src/chain/transport.ts'
import { fundedWallet, post, x402Payer } from '../support/buyers.ts'
import { nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { ended, said, verdict } from './counter.ts'
import { type FakeFacilitator, type Settled, startFacilitator, type Turn } from './fake-facilitator.ts'
import { createMeddler } from './meddler.ts'
import { type Changes, encoded, paymentFor, preempt, requiredOf, type X402Payment } from './x402-wallet.ts'

// A facilitator is somebody else's computer. It may be slow, wrong or lying; goods leave only for money that the chain shows.

const meddler = createMeddler()
let facilitator: FakeFacilitator
let shop: TestShop
/** The same shop, which keeps its callers waiting for as long as it takes. */
let patient: string
let payer: PrivateKeyAccount
before(async () => {
  facilitator = await startFacilitator(() => shop)
  shop = await startShop({
    wrapTransport: meddler.wrap,
    configure: (config) => ({
      ...config,
      // Long enough for an honest facilitator on a busy machine; only those that hang take it all.
      limits: { ...config.limits, waitMsMax: 600, facilitatorTimeoutMs: 5_000, leaseSeconds: 2 },
      x402: { ...config.x402!, facilitator: { kind: 'remote', url: facilitator.url, headers: {} } },
    }),
  })
  const { url } = await shop.replica({
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 20_000 } }),
  })
  patient = `${url}/agentic/x402/buy`
  payer = await fundedWallet(shop)
})
after(async () => {
  await shop.stop()
  await facilitator.close()
})

const url = () => `${shop.url}/agentic/x402/buy`
const status = (orderId: string) => fetch(`${shop.url}/agentic/x402/purchases/${orderId}`)

/** Each purchase is for another beneficiary, so that none is in doubt because of one before it. */
async function prepare(changes: Changes = {}, by = payer) {
  const body = { saleId: 392, beneficiary: privateKeyToAddress(generatePrivateKey()) }
  const payment = await paymentFor(by, requiredOf(await fetch(url(), post(body))), changes)
  const show = (at = url()) => fetch(at, post(body, { 'payment-signature': encoded(payment) }))
  return { body, payment, show }
}

async function isSpent({ payload: { authorization } }: X402Payment): Promise<boolean> {
  const rpc = createRpc({ chainId: 84532, transports: [providerTransport(shop.chains.native)], clock: systemClock })
  return isAuthorizationUsed(rpc, shop.config.x402!.asset, authorization)
}

async function isOrdered({ payload }: X402Payment): Promise<boolean> {
  return (await fetch(`${shop.url}/payments/${payload.authorization.nonce}`)).status !== 404
}

test('a stock client pays through it', async () => {
  const response = await x402Payer(payer)(patient, post({ saleId: 392, beneficiary: payer.address }))
  assert.equal(response.status, 200)
})

describe('M-18: down before settlement', () => {
  const write =
    (status: number, body: string) =>
    (_payment: X402Payment, response: ServerResponse): null => {
      response.statusCode = status
      response.end(body)
      return null
    }
  const failed = JSON.stringify({ isValid: false, invalidReason: 'unexpected_verify_error' })
  for (const [what, verify] of [
    ['hangs', () => null],
    ['closes the connection', hangUp],
    ['answers 500', write(500, '{}')],
    ['answers 500 with a verdict', write(500, failed)],
    ['answers 503 with HTML', write(503, '<html>')],
    ['answers 200 with HTML', write(200, '<html>')],
    ['answers 200 with half of JSON', write(200, '{"isValid":tr')],
    ['answers 200 with other JSON', write(200, '{"valid":true}')],
    ['answers with ten megabytes', write(200, `{"isValid":"${'x'.repeat(10 << 20)}"}`)],
  ] as const) {
    test(`it ${what}: 503, nothing is written, and the same payment works afterwards`, async () => {
      verifies('D8.6')
      const { payment, show } = await prepare()
      facilitator.behave(payment, { verify })
      const response = await show(patient)
      const { code, payment: money, retry } = await said(response)
      assert.deepEqual(
        [response.status, code, money.taken, retry.action],
        [503, 'facilitator_unavailable', false, 'wait_same_credential'],
      )
      assert.deepEqual([await isOrdered(payment), facilitator.asked(payment, 'settle')], [false, 0])
      facilitator.behave(payment, {})
      assert.equal((await show(patient)).status, 200)
    })
  }

  test('a verdict is 402 with its reason, and nothing is written', async () => {
    verifies('D5.6')
    const { payment, show } = await prepare()
    for (const [invalidReason, code] of [
      ['invalid_exact_evm_insufficient_balance', 'insufficient_funds'],
      ['invalid_exact_evm_payload_authorization_valid_before', 'payment_expired'],
      ['something_new', 'payment_verification_failed'],
    ] as const) {
      facilitator.behave(payment, { verify: () => ({ isValid: false, invalidReason }) })
      assert.deepEqual(await verdict(await show()), [402, code])
    }
    assert.equal(await isOrdered(payment), false)
  })

  test('a payment that it calls used is never answered with 402', async () => {
    const { payment, show } = await prepare()
    facilitator.behave(payment, {
      verify: () => ({ isValid: false, invalidReason: 'invalid_exact_evm_nonce_already_used' }),
    })
    assert.deepEqual(await verdict(await show()), [409, 'payment_conflict'])
  })
})

function hangUp(_payment: X402Payment, response: ServerResponse): null {
  response.destroy()
  return null
}

const failing =
  (answer: Settled | null): Turn<Settled> =>
  (_payment, response) => {
    response.statusCode = 500
    if (!answer) response.end('{}')
    return answer
  }

describe('M-14: the outcome is not known', { concurrency: 6 }, () => {
  for (const [what, turn] of [
    ['it hangs', () => null],
    ['it closes the connection', hangUp],
    ['it answers 500', failing(null)],
    ['it says pending', () => ({ success: false, errorReason: 'settlement_pending', transaction: '' })],
    [
      'it answers 500 and says pending, as one of the large ones does',
      failing({ success: false, errorReason: 'settlement_pending', transaction: generatePrivateKey() }),
    ],
    [
      'it answers 500 with a reason that would be final',
      failing({ success: false, errorReason: 'insufficient_funds', transaction: '' }),
    ],
    ['it gives a reason that nobody knows', () => ({ success: false, errorReason: 'moon_phase', transaction: '' })],
  ] satisfies readonly (readonly [string, Turn<Settled>])[]) {
    for (const moment of ['before', 'after'] as const) {
      test(`${what} ${moment} it was sent: 202, never a 402, and in the end it is delivered once`, async () => {
        verifies('D5.1')
        const { payment, show } = await prepare()
        // Hidden before it is sent: on a busy machine the caller is answered before anybody was asked to settle.
        const reveal = moment === 'after' ? hide(payment) : () => {}
        let isSent = moment === 'before'
        facilitator.behave(payment, {
          async settle(paid, response) {
            if (!isSent) {
              isSent = true
              await preempt(shop, paid)
            }
            return turn(paid, response)
          },
        })
        const response = await show()
        const { payment: money, orderId } = await said(response)
        assert.deepEqual([response.status, money.taken], [202, 'unknown'])
        assert.equal(response.headers.get('payment-required'), null)
        facilitator.behave(payment, {})
        reveal()
        const end = await ended(shop, 'x402', orderId)
        assert.deepEqual([end.status, end.nfts.length], ['confirmed', 1])
      })
    }
  }

  test('the caller is answered in time though it hangs for longer than that', async () => {
    verifies('D5.8')
    const { payment, show } = await prepare()
    let isGivenUp = false
    facilitator.behave(payment, {
      settle(_paid, response) {
        response.on('close', () => {
          isGivenUp = true
        })
        return null
      },
    })
    assert.equal((await show()).status, 202)
    assert.equal(isGivenUp, false)
  })

  test('M-17: after a lost answer, "too little money" is what a payment under way looks like', async () => {
    const { payment, show } = await prepare()
    const reveal = hide(payment)
    facilitator.behave(payment, {
      async settle(paid, response) {
        await preempt(shop, paid)
        const errorReason = 'invalid_exact_evm_insufficient_balance'
        facilitator.behave(paid, { settle: () => ({ success: false, errorReason, transaction: '' }) })
        return hangUp(paid, response)
      },
    })
    const response = await show()
    assert.equal(response.status, 202)
    await until(async () => facilitator.asked(payment, 'settle') > 2)
    const { orderId } = await said(response)
    assert.equal((await status(orderId)).status, 202)
    reveal()
    assert.equal((await ended(shop, 'x402', orderId)).status, 'confirmed')
  })

  /** Our node has not seen this payment yet. */
  function hide({ payload }: X402Payment): () => void {
    const { nonce } = payload.authorization
    const stops = [
      meddler.meddle('eth_call', (params, ask) => {
        const [{ data }] = params as unknown as [{ data: string }]
        return data.startsWith('0xe94a0102') && data.endsWith(nonce.slice(2)) ? `0x${'0'.repeat(64)}` : ask()
      }),
      meddler.meddle('eth_getTransactionReceipt', async (_params, ask) => {
        const receipt = (await ask()) as { logs: { topics: string[] }[] } | null
        return receipt?.logs.some(({ topics }) => topics[2] === nonce) ? null : receipt
      }),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }
})

describe('M-16: it lies', { concurrency: 6 }, () => {
  const lie = (transaction: string): Settled => ({ success: true, transaction })
  /** Another honest payment, on the chain. */
  async function another(changes: Changes = {}, by = payer): Promise<Hex> {
    return preempt(shop, (await prepare(changes, by)).payment)
  }
  for (const [what, tell] of [
    ['a transaction that does not exist', async () => lie(generatePrivateKey())],
    ['no transaction', async () => lie('')],
    ['a transaction that is no hash', async () => lie('0x1234')],
    ['a hash in capitals', async () => lie(generatePrivateKey().toUpperCase().replace('0X', '0x'))],
    ['somebody else’s payment', async () => lie(await another({}, await fundedWallet(shop)))],
    ['another payment of the same payer', async () => lie(await another())],
    ['a payment of one unit less', async () => lie(await another({ authorization: { value: '249999' } }))],
    ['a payment to somebody else', async () => lie(await another({ authorization: { to: payer.address } }))],
    // An authorization that is not valid yet reverts.
    ['a transaction that reverted', async () => lie(await another({ authorization: { validAfter: '9999999999' } }))],
    [
      'success, with a reason against it',
      async () => ({ ...lie(generatePrivateKey()), errorReason: 'invalid_payload' }),
    ],
    ['success in a word', async () => ({ success: 'true' as never, transaction: generatePrivateKey() })],
    ['the payload back', async (payment) => payment as never],
  ] satisfies readonly (readonly [string, (payment: X402Payment) => Promise<Settled>])[]) {
    test(`with ${what}: 202, and nothing is handed over`, async () => {
      verifies('D5.7')
      const { body, payment, show } = await prepare()
      facilitator.behave(payment, { settle: tell })
      const response = await show()
      const { payment: money, orderId, nfts } = await said(response)
      assert.deepEqual([response.status, money.taken, nfts], [202, 'unknown', []])
      await until(async () => facilitator.asked(payment, 'settle') > 1)
      assert.equal((await status(orderId)).status, 202)
      // When the money really comes, by whomever, the goods follow.
      await preempt(shop, payment)
      const { nfts: minted } = await ended(shop, 'x402', orderId)
      const owner = await nftOwner(shop.chains.native, minted[0]!.contract, minted[0]!.tokenId)
      assert.equal(owner, body.beneficiary.toLowerCase())
    })
  }
})

describe('M-17: it resolves with success: false, and that is final', () => {
  for (const [errorReason, code] of [
    ['insufficient_funds', 'insufficient_funds'],
    ['invalid_exact_evm_insufficient_balance', 'insufficient_funds'],
    ['invalid_exact_evm_signature', 'payment_verification_failed'],
    ['invalid_exact_evm_payload_signature', 'payment_verification_failed'],
    ['invalid_exact_evm_payload_authorization_valid_before', 'payment_expired'],
    ['invalid_exact_evm_payload_authorization_valid_after', 'payment_expired'],
    ['invalid_exact_evm_payload_recipient_mismatch', 'payment_terms_mismatch'],
    ['invalid_exact_evm_payload_authorization_value_mismatch', 'payment_amount_mismatch'],
    ['invalid_payment_requirements', 'payment_terms_mismatch'],
    ['invalid_payload', 'payment_verification_failed'],
    ['invalid_scheme', 'payment_terms_mismatch'],
    ['invalid_network', 'payment_terms_mismatch'],
    ['unsupported_scheme', 'payment_terms_mismatch'],
  ] as const) {
    test(`${errorReason}: 402 ${code}, and nothing was taken`, async () => {
      const { payment, show } = await prepare()
      facilitator.behave(payment, { settle: () => ({ success: false, errorReason, transaction: '' }) })
      assert.deepEqual(await verdict(await show(patient)), [402, code])
      assert.equal(await isSpent(payment), false)
    })
  }
})

describe('M-17: it resolves with success: false, and that proves nothing', { concurrency: 6 }, () => {
  for (const errorReason of [
    'settlement_pending',
    'invalid_exact_evm_nonce_already_used',
    'invalid_exact_evm_transaction_failed',
    'invalid_exact_evm_transaction_simulation_failed',
    'invalid_transaction_state',
    'unexpected_settle_error',
  ]) {
    test(`${errorReason}: the chain has the word`, async () => {
      const { payment, show } = await prepare()
      facilitator.behave(payment, { settle: () => ({ success: false, errorReason, transaction: '' }) })
      const response = await show()
      assert.equal(response.status, 202, JSON.stringify(await response.clone().json()))
      await preempt(shop, payment)
      assert.equal((await ended(shop, 'x402', (await said(response)).orderId)).status, 'confirmed')
    })
  }
})
