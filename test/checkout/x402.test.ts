import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { evm, Mppx } from 'mppx/client'
import { encodeDeployData, encodeFunctionData, getContractAddress } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import { checksumAddress } from '../../src/base/address.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { testSmartWallet } from '../artifacts/TestSmartWallet.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { scriptedWaypoint } from '../support/scripted-waypoint.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { assertFree402, ended, hastyReplica, movableClock, orderCount, said, verdict } from './counter.ts'
import { createMeddler, Refused } from './meddler.ts'
import { encoded, paymentFor, preempt, type Required, requiredOf, sendFrom, type X402Payment } from './x402-wallet.ts'

// An authorization is a bearer cheque: whoever sees it can bring it to the chain, its signer can take it back, and we are not always the first.

const meddler = createMeddler()
const { waypoint, when } = scriptedWaypoint()
let shop: TestShop
let payer: PrivateKeyAccount
before(async () => {
  shop = await startShop({
    wrapTransport: meddler.wrap,
    waypoint,
    configure: (config) => ({ ...config, limits: { ...config.limits, leaseSeconds: 2 } }),
  })
  payer = await fundedWallet(shop)
})
after(() => shop.stop())

const url = () => `${shop.url}/agentic/x402/buy`
const lot = (more: object = {}) => ({ saleId: 392, beneficiary: payer.address, ...more })
const ask = async (body: object = lot()): Promise<Required> => requiredOf(await fetch(url(), post(body)))
const show = (payment: X402Payment | string, body: object = lot(), at = url()) =>
  fetch(at, post(body, { 'payment-signature': typeof payment === 'string' ? payment : encoded(payment) }))
const showHastily = async (payment: X402Payment) => show(payment, lot(), `${await hastyReplica(shop)}/agentic/x402/buy`)
const till = () => x402UnderTest.till(shop)

describe('M-10: the window of a payment', () => {
  // Time stands still, for the shop and for its chain, so that an edge is an edge however long the calls take.
  const now = Math.floor(Date.now() / 1_000)
  const still: Clock = { now: () => now * 1_000, sleep: systemClock.sleep }
  let frozen: TestShop
  before(async () => {
    frozen = await startShop({ clock: still })
  })
  after(() => frozen.stop())

  async function at(validBefore: number, validAfter = 0): Promise<readonly [number, string | undefined]> {
    const buyer = await fundedWallet(frozen)
    const address = `${frozen.url}/agentic/x402/buy`
    const body = { saleId: 392, beneficiary: buyer.address }
    const authorization = { validBefore: String(validBefore), validAfter: String(validAfter) }
    const payment = await paymentFor(buyer, requiredOf(await fetch(address, post(body))), { authorization })
    return verdict(await fetch(address, post(body, { 'payment-signature': encoded(payment) })))
  }

  test('at least six seconds must be left, and no more than was asked for and a minute', async () => {
    assert.deepEqual(await at(now - 1), [402, 'payment_expired'])
    assert.deepEqual(await at(now + 5), [402, 'payment_expired'])
    assert.equal((await at(now + 6))[0], 200)
    assert.equal((await at(now + 360))[0], 200)
    assert.deepEqual(await at(now + 361), [402, 'payment_terms_mismatch'])
  })

  test('it must be valid already', async () => {
    assert.equal((await at(now + 100, now - 1))[0], 200)
    assert.deepEqual(await at(now + 100, now + 1), [402, 'payment_expired'])
  })

  test('a payment that was taken is answered after it expired', async () => {
    const payment = await paymentFor(payer, await ask())
    const first = await show(payment)
    assert.equal(first.status, 200)
    const later = await shop.replica({ withoutWorker: true, clock: movableClock(24 * 3_600_000) })
    const again = await fetch(`${later.url}/agentic/x402/buy`, post(lot(), { 'payment-signature': encoded(payment) }))
    assert.equal(again.status, 200)
    assert.equal(await again.text(), await first.text())
  })
})

describe('M-05: another body', () => {
  test('costs another price: refused, and the payment stays good', async () => {
    verifies('D5.9')
    const payment = await paymentFor(payer, await ask())
    const before = await orderCount(shop)
    await assertFree402(shop, await show(payment, lot({ quantity: 2 })), 'payment_amount_mismatch', before)
    assert.equal((await show(payment)).status, 200)
  })

  test('of the same price is the purchase that is made, until the payment is used', async () => {
    const other = privateKeyToAccount(generatePrivateKey()).address
    const payment = await paymentFor(payer, await ask())
    assert.equal((await show(payment, lot({ beneficiary: other }))).status, 200)
    assert.deepEqual(await verdict(await show(payment)), [409, 'payment_conflict'])
  })

  test('cannot be put under a payment that commits to its own (mppx)', async () => {
    const mppx = Mppx.create({ methods: [evm.charge({ account: payer })], polyfill: false })
    const header = (await mppx.createCredential(await fetch(url(), post(lot())))) as string
    const other = lot({ beneficiary: privateKeyToAccount(generatePrivateKey()).address })
    const before = await orderCount(shop)
    await assertFree402(shop, await show(header, other), 'request_body_mismatch', before)
    // Nor may the digest of the other body be put into the echo: the nonce commits to it.
    const honest = JSON.parse(Buffer.from(header, 'base64').toString()) as X402Payment
    const { extensions } = await ask(other)
    const salt = (honest.extensions as Required['extensions'])['mppx']!.info['nonce']
    const mppxEcho = { ...extensions['mppx']!, info: { ...extensions['mppx']!.info, nonce: salt } }
    const swapped = { ...honest, extensions: { ...extensions, mppx: mppxEcho } }
    await assertFree402(shop, await show(swapped, other), 'request_body_mismatch', before)
    assert.equal((await show(header)).status, 200)
  })
})

describe('M-12: somebody else brings the payment to the chain', () => {
  test('after the order was opened: it counts as paid', async () => {
    const payment = await paymentFor(payer, await ask())
    when('settle.begun', () => preempt(shop, payment))
    const before = await till()
    const response = await show(payment)
    assert.equal(response.status, 200)
    assert.equal((await till()) - before, 250_000n)
  })

  test('and the node that is asked is behind: never a 402, and in the end it counts', async () => {
    const payment = await paymentFor(payer, await ask())
    when('settle.begun', () => preempt(shop, payment))
    // What it says of the token, unused and would go through, was true a few blocks ago.
    const catchUp = meddler.meddle('eth_call', (params, askChain) => {
      const [{ to, data }, tag] = params as unknown as [{ to: string; data: string }, string]
      const isBalance = data.startsWith('0x70a08231')
      if (to !== shop.config.x402!.asset || tag !== 'latest' || isBalance) return askChain()
      return data.startsWith('0xe94a0102') ? `0x${'0'.repeat(64)}` : '0x'
    })
    const response = await showHastily(payment)
    assert.equal(response.status, 202)
    catchUp()
    assert.equal((await ended(shop, 'x402', (await said(response)).orderId)).status, 'confirmed')
  })

  test('a moment after our own transaction reverted: the next look finds it', async () => {
    const payment = await paymentFor(payer, await ask())
    await shop.chains.native.request({ method: 'dev_fault', params: [{ kind: 'revert', to: shop.config.x402!.asset }] })
    // Between the look at the chain and the question why it reverted.
    const stop = meddler.meddle('eth_call', async (params, askChain) => {
      const [request, tag] = params as unknown as [{ data: string }, string]
      if (request.data.startsWith('0xe94a0102') && tag !== 'latest') {
        const answer = await askChain()
        stop()
        await preempt(shop, payment)
        return answer
      }
      return askChain()
    })
    const response = await show(payment)
    assert.equal(response.status, 200)
  })

  test('before it came here: nobody is asked to pay again, and nothing is handed over', async () => {
    const payment = await paymentFor(payer, await ask())
    await preempt(shop, payment)
    const before = await orderCount(shop)
    const response = await show(payment)
    const { code, payment: money } = await said(response)
    assert.deepEqual([response.status, code, money.taken], [409, 'payment_conflict', true])
    assert.equal(await orderCount(shop), before)
  })

  async function cancel({ payload: { authorization } }: X402Payment): Promise<void> {
    const asset = shop.config.x402!.asset
    const signature = await payer.signTypedData({
      domain: { name: 'USDC', version: '2', chainId: 84532, verifyingContract: asset },
      types: {
        CancelAuthorization: [
          { name: 'authorizer', type: 'address' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'CancelAuthorization',
      message: { authorizer: payer.address, nonce: authorization.nonce },
    })
    const args = [payer.address, authorization.nonce, signature] as const
    const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'cancelAuthorization', args })
    await sendFrom(shop.chains.native, privateKeyToAccount(generatePrivateKey()), asset, data)
  }

  test('a payment cancelled before it came is 402 payment_cancelled', async () => {
    const payment = await paymentFor(payer, await ask())
    await cancel(payment)
    await assertFree402(shop, await show(payment), 'payment_cancelled', await orderCount(shop))
  })

  test('a payment cancelled between check and settlement takes nothing', async () => {
    const payment = await paymentFor(payer, await ask())
    when('settle.begun', () => cancel(payment))
    const before = await till()
    assert.deepEqual(await verdict(await show(payment)), [402, 'payment_cancelled'])
    assert.equal(await till(), before)
  })

  test('F-04: a nonce that its payer spends on something else ends the order and frees what it held', async () => {
    const required = await ask()
    const payment = await paymentFor(payer, required)
    const { nonce } = payment.payload.authorization
    const elsewhere = await paymentFor(payer, required, { authorization: { nonce, to: payer.address } })
    when('settle.begun', () => preempt(shop, elsewhere))
    assert.deepEqual(await verdict(await show(payment)), [402, 'payment_verification_failed'])
    const { rows } = await shop.store.db.query<{ n: number }>(
      `select count(*)::int as n from holds h join orders o on o.id = h.order_id where o.status = 'expired' and h.released_at is null`,
    )
    assert.equal(rows[0]!.n, 0)
  })

  test('M-02: a payer who empties the wallet after the check is refused, and nothing is handed over', async () => {
    const poor = await fundedWallet(shop)
    const payment = await paymentFor(poor, await ask())
    when('settle.begun', async () => {
      const all = await erc20Balance(shop.chains.native, shop.config.x402!.asset, poor.address)
      const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'transfer', args: [payer.address, all] })
      await sendFrom(shop.chains.native, poor, shop.config.x402!.asset, data)
    })
    assert.deepEqual(await verdict(await show(payment)), [402, 'insufficient_funds'])
  })
})

describe('a contract wallet (ERC-1271)', () => {
  async function smartWallet(): Promise<{ owner: PrivateKeyAccount; wallet: PrivateKeyAccount }> {
    const owner = privateKeyToAccount(generatePrivateKey())
    await shop.chains.native.request({ method: 'dev_setBalance', params: [owner.address, '0xde0b6b3a7640000'] })
    const deployed = getContractAddress({ from: owner.address, nonce: 0n })
    const raw = await owner.signTransaction({
      type: 'eip1559',
      chainId: 84532,
      nonce: 0,
      data: encodeDeployData({ ...testSmartWallet, args: [owner.address] }),
      gas: 2_000_000n,
      maxFeePerGas: 20_000_000_000n,
      maxPriorityFeePerGas: 1_000_000n,
    })
    await shop.chains.native.request({ method: 'eth_sendRawTransaction', params: [raw] })
    const asset = shop.config.x402!.asset
    await shop.chains.native.request({ method: 'dev_mintToken', params: [asset, deployed, '0xf4240'] })
    return { owner, wallet: { ...owner, address: checksumAddress(deployed) } }
  }

  test('pays with its owner’s signature, and the answer is replayed', async () => {
    const { wallet } = await smartWallet()
    const payment = await paymentFor(wallet, await ask())
    const response = await show(payment)
    assert.equal(response.status, 200)
    const bought = await said(response)
    assert.equal(bought.payer, wallet.address)
    assert.equal((await show(payment)).headers.get('idempotent-replayed'), 'true')
  })

  test('does not pay with anybody else’s', async () => {
    const { wallet } = await smartWallet()
    const stranger = { ...privateKeyToAccount(generatePrivateKey()), address: wallet.address }
    const payment = await paymentFor(stranger, await ask())
    await assertFree402(shop, await show(payment), 'payment_verification_failed', await orderCount(shop))
  })
})

describe('M-18: a chain that cannot be asked', () => {
  test('before the order is opened: 503, nothing is written, and the same payment works later', async () => {
    verifies('D8.6')
    const payment = await paymentFor(payer, await ask())
    const before = await orderCount(shop)
    for (const answer of [
      () => Promise.reject(new Error('down')),
      () => Promise.reject(new Refused({ code: -32005, message: 'limit exceeded' })),
      () => Promise.reject(new Refused({ code: -32000, message: 'header not found' })),
    ]) {
      const mend = meddler.meddle('eth_call', (params, askChain) =>
        (params as unknown as [{ to: string }])[0].to === shop.config.x402!.asset ? answer() : askChain(),
      )
      const response = await show(payment)
      mend()
      const { code, payment: money } = await said(response)
      assert.deepEqual([response.status, code, money.taken], [503, 'chain_unavailable', 'unknown'])
      assert.equal(await orderCount(shop), before)
    }
    assert.equal((await show(payment)).status, 200)
  })

  test('after it: 202, and it ends well when the chain is back', async () => {
    const payment = await paymentFor(payer, await ask())
    let mend = () => {}
    when('settle.begun', async () => {
      const down = ['eth_sendRawTransaction', 'eth_getTransactionReceipt', 'eth_call', 'eth_getTransactionCount'].map(
        (method) =>
          meddler.meddle(method, () => {
            throw new Error('down')
          }),
      )
      mend = () => down.forEach((stop) => void stop())
    })
    const response = await showHastily(payment)
    const { payment: money, orderId } = await said(response)
    assert.deepEqual([response.status, money.taken], [202, 'unknown'])
    mend()
    assert.equal((await ended(shop, 'x402', orderId)).status, 'confirmed')
    // Whoever looked at the shop's health meanwhile found a chain that is down, and believes that for a while.
    await until(async () => (await fetch(url(), post(lot()))).status === 402)
  })

  test('a receipt that is null at first changes nothing', async () => {
    const payment = await paymentFor(payer, await ask())
    let nulls = 3
    const stop = meddler.meddle('eth_getTransactionReceipt', (_params, askChain) => (nulls-- > 0 ? null : askChain()))
    assert.equal((await show(payment)).status, 200)
    stop()
  })
})

test('the payment-identifier of the protocol names a purchase: a second payment under it is not taken', async () => {
  verifies('D5.12')
  const named = async (body: object) => {
    const required = await ask(body)
    const info = { ...required.extensions['payment-identifier']!.info, id: 'one-name-for-one-purchase' }
    const extension = { ...required.extensions['payment-identifier']!, info }
    const extensions = { ...required.extensions, 'payment-identifier': extension }
    return show({ ...(await paymentFor(payer, required)), extensions }, body)
  }
  const first = await named(lot())
  assert.equal(first.status, 200)
  const before = await till()
  const second = await named(lot())
  assert.deepEqual([second.status, second.headers.get('idempotent-replayed')], [200, 'true'])
  assert.equal(await second.text(), await first.text())
  assert.deepEqual(await verdict(await named(lot({ quantity: 2 }))), [409, 'idempotency_conflict'])
  assert.equal(await till(), before)
})

test('M-05: a report is priced by an empty call, and made by a paid one with its body, even for a payer who commits to it', async () => {
  const address = `${shop.url}/x402/report-tx`
  const body = { userId: 'ada', txHash: generatePrivateKey() }
  const mppx = Mppx.create({ methods: [evm.charge({ account: payer })], polyfill: false })
  for (const pay of [
    (unpaid: Response) => x402UnderTest.pay(shop, payer, unpaid),
    async (unpaid: Response) => (await mppx.createCredential(unpaid)) as string,
  ]) {
    const unpaid = await fetch(address, { method: 'POST' })
    assert.equal(unpaid.status, 402)
    const paid = await fetch(address, post(body, { 'payment-signature': await pay(unpaid) }))
    assert.equal(paid.status, 200)
  }
})
