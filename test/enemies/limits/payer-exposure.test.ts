import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Secret } from '../../../src/base/secret.ts'
import { orderCount, said, setLot, verdict } from '../../checkout/counter.ts'
import { challengeOf, credentialOf, mppWallet, payingCall } from '../../checkout/mpp-wallet.ts'
import { encoded, paymentFor, requiredOf, sendFrom } from '../../checkout/x402-wallet.ts'
import { asOperator } from '../../operations/desk.ts'
import { transfer } from '../../operations/strangers.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { erc20Balance, startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { verifies } from '../../support/verifies.ts'

// How far the shop goes with one payer is decided before anything is spent, and over all replicas.

const RARE = 77

async function start(limits: object = {}, more: Parameters<typeof startShop>[0] = {}): Promise<TestShop> {
  const shop = await startShop({
    ...more,
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, waitMsMax: 400, receiptWaitMs: 100, leaseSeconds: 2, ...limits },
    }),
  })
  await setLot(shop, RARE, { price: '250.00', supply: 3n })
  return shop
}

const buyUrl = (shop: { url: string }, rail: 'x402' | 'mpp') => `${shop.url}/agentic/${rail}/buy`

describe('E14: a wallet that authorizes the same money many times', () => {
  let shop: TestShop
  let other: { url: string }
  before(async () => {
    shop = await start()
    other = await shop.replica()
  })
  after(() => shop.stop())

  test('costs the gas of few settlements, whichever replica it asks', async () => {
    verifies('D9.7')
    const payer = await fundedWallet(shop, 0n)
    const { asset } = shop.config.x402!
    await shop.chains.native.request({ method: 'dev_mintToken', params: [asset, payer.address, '0x3e8'] })
    const settler = await settlerNonce()
    await Promise.all(
      Array.from({ length: 60 }, async (_, i) => show(i % 2 ? shop : other, await promise(payer, shop))),
    )
    await until(async () => (await orders(payer.address, 'settling')) === 0)
    assert.equal(await orders(payer.address, 'confirmed'), 1)
    // The one that was paid, and no more than may be open while it lands.
    const sent = (await settlerNonce()) - settler
    assert.ok(sent <= 20, `${sent} settlements were sent`)
  })

  const health = '/x402/cheap-health'
  const promise = async (payer: Parameters<typeof paymentFor>[0], at: { url: string }) =>
    encoded(await paymentFor(payer, requiredOf(await fetch(`${at.url}${health}`))))
  const show = (at: { url: string }, payment: string) =>
    fetch(`${at.url}${health}`, { headers: { 'payment-signature': payment } })
  const settlerNonce = async () => {
    const { rows } = await shop.store.db.query<{ n: number }>(
      `select count(*)::int as n from sends where step like 'settle%'`,
    )
    return rows[0]!.n
  }
  const orders = async (payer: string, status: string) =>
    (
      await shop.store.db.query<{ n: number }>(
        `select count(*)::int as n from orders where payer = $1 and status = $2`,
        [payer, status],
      )
    ).rows[0]!.n
})

describe('F-04: a signed transaction that cannot land now', () => {
  let shop: TestShop
  before(async () => {
    shop = await start()
  })
  after(() => shop.stop())

  for (const [what, fieldsNow] of [
    ['behind a gap of the account’s nonces', () => ({ nonceKey: 0n, nonce: 7n })],
    ['behind a gap of one of its lanes', () => ({ nonceKey: 5n, nonce: 3n })],
    ['that is not valid yet', () => ({ validAfter: Math.floor(Date.now() / 1000) + 20 })],
    ['that pays less than the base fee', () => ({ maxFeePerGas: 1n, maxPriorityFeePerGas: 0n })],
  ] as const)
    test(`${what} is refused, and keeps nothing from others`, async () => {
      const wallet = await mppWallet(shop, 2_000n)
      const body = { saleId: RARE, quantity: 3, beneficiary: wallet.address }
      const challenge = challengeOf(await fetch(buyUrl(shop, 'mpp'), post(body)))
      const signature = wallet.sign([payingCall(challenge)], fieldsNow())
      const before = await orderCount(shop)
      const authorization = credentialOf(challenge, { type: 'transaction', signature })
      assert.deepEqual(await verdict(await fetch(buyUrl(shop, 'mpp'), post(body, { authorization }))), [
        402,
        'payment_verification_failed',
      ])
      assert.equal(await orderCount(shop), before)
      assert.equal(await held(shop), 0)
    })
})

async function held(shop: TestShop): Promise<number> {
  const { rows } = await shop.store.db.query<{ held: number }>(
    `select coalesce(sum(held), 0)::int as held from hold_totals where resource like 'lot:%:${RARE}'`,
  )
  return rows[0]!.held
}

test('F-04: a payment that passed every check and does not land gives back what it kept, and is delivered if it lands after all', async () => {
  let isSwallowing = true
  const kept: Hex[] = []
  const shop = await start(
    { holdMsMax: 0 },
    {
      wrapTransport: (chainId, transport) => async (request) => {
        if (chainId === 42431 && isSwallowing && request.method === 'eth_sendRawTransaction') {
          kept.push(request.params[0] as Hex)
          return { result: `0x${'00'.repeat(32)}` }
        }
        return transport(request)
      },
    },
  )
  try {
    const [first, second] = [await fundedWallet(shop, 2_000n), await fundedWallet(shop, 2_000n)]
    const body = { saleId: RARE, quantity: 3, beneficiary: first.address }
    const url = buyUrl(shop, 'mpp')
    const credential = await mppPullUnderTest.pay(shop, first, await fetch(url, post(body)))
    const early = await fetch(url, post(body, { authorization: credential }))
    assert.equal(early.status, 202)
    await until(async () => (await held(shop)) === 0)
    const rival = { ...body, quantity: 1, beneficiary: second.address }
    const unpaid = await fetch(buyUrl(shop, 'x402'), post(rival))
    const payment = await x402UnderTest.pay(shop, second, unpaid)
    const taken = await fetch(buyUrl(shop, 'x402'), post(rival, { 'payment-signature': payment }))
    const purchased = `${buyUrl(shop, 'x402').replace('/buy', '/purchases')}/${(await said(taken)).orderId}`
    await until(async () => (await fetch(purchased)).status === 200)
    assert.equal((await said(await fetch(purchased))).status, 'confirmed')
    isSwallowing = false
    const { orderId } = await said(early)
    const status = `${url.replace('/buy', '/purchases')}/${orderId}`
    await until(async () => (await fetch(status)).status === 200)
    // Three are no longer there, so all of it went back.
    assert.equal((await said(await fetch(status))).status, 'refunded')
  } finally {
    await shop.stop()
  }
})

test('more is not sold than could be sent back', async () => {
  verifies('D9.8')
  const shop = await start()
  try {
    const { asset, treasuryKey } = shop.config.x402!
    const payer = await fundedWallet(shop)
    const treasury = privateKeyToAccount((treasuryKey as Secret).reveal() as Hex)
    const balance = await erc20Balance(shop.chains.native, asset, treasury.address)
    await sendFrom(shop.chains.native, treasury, asset, transfer(payer.address, balance - 100_000n))
    const body = { saleId: 392, beneficiary: payer.address }
    const unpaid = await fetch(buyUrl(shop, 'x402'), post(body))
    const payment = await x402UnderTest.pay(shop, payer, unpaid)
    const refused = await fetch(buyUrl(shop, 'x402'), post(body, { 'payment-signature': payment }))
    assert.deepEqual(await verdict(refused), [503, 'shop_overcommitted'])
  } finally {
    await shop.stop()
  }
})

test('a payer who was refunded too often today is not sold anything more', async () => {
  verifies('D9.7')
  const shop = await start({ refundsPerPayer: 2 })
  try {
    const payer = await fundedWallet(shop)
    const buy = async () => {
      const body = { itemId: 'keys:5', nickname: 'fail_delivery' }
      const url = `${shop.url}/shop/x402/buy`
      const payment = await x402UnderTest.pay(shop, payer, await fetch(url, post(body)))
      return fetch(url, post(body, { 'payment-signature': payment }))
    }
    for (let i = 0; i < 2; i++) assert.ok([202, 409].includes((await buy()).status))
    await until(async () => {
      const { rows } = await shop.store.db.query<{ n: number }>('select count(*)::int as n from refunds')
      return rows[0]!.n === 2
    })
    assert.deepEqual(await verdict(await buy()), [429, 'payer_throttled'])
  } finally {
    await shop.stop()
  }
})

test('what goes beyond the automatic refunds of a day waits for a person', async () => {
  verifies('D6.10')
  const shop = await start({ refundsPerDay: 2_000_000n })
  try {
    const url = `${shop.url}/shop/x402/buy`
    const fail = async () => {
      const payer = await fundedWallet(shop)
      const body = { itemId: 'keys:5', nickname: 'fail_delivery' }
      const payment = await x402UnderTest.pay(shop, payer, await fetch(url, post(body)))
      return said(await fetch(url, post(body, { 'payment-signature': payment })))
    }
    const [first, second] = [await fail(), await fail()]
    const statusOf = async ({ orderId }: { orderId: string }) =>
      (await said(await fetch(`${shop.url}/shop/x402/purchases/${orderId}`))).status
    await until(async () => (await statusOf(first)) === 'refunded')
    // It is let go of, for a person: nobody works on it, and it is not due.
    await until(async () => {
      const { rows } = await shop.store.db.query(
        `select from jobs where key = $1 and lease is null and run_at > now() + interval '10 minutes'`,
        [second.orderId],
      )
      return rows.length === 1 || (await statusOf(second)) === 'refunded'
    })
    assert.equal(await statusOf(second), 'failed')
    const deed = post({ reason: 'a person looked', by: 'ada' })
    assert.equal((await asOperator(shop, `/operator/orders/${second.orderId}/refund`, deed)).status, 200)
    assert.equal(await statusOf(second), 'refunded')
  } finally {
    await shop.stop()
  }
})
