import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { movableClock, said, setLot } from '../../checkout/counter.ts'
import { challengeOf, credentialOf, mppWallet, payingCall } from '../../checkout/mpp-wallet.ts'
import { preempt, type X402Payment } from '../../checkout/x402-wallet.ts'
import { buyUrl, LOT, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// Idea 3, for what the shop was to send: somebody else has carried it to the chain before it is shown here, and now it fails every check.

const LATE_MS = 1_000_000

async function start(t: TestContext) {
  const clock = movableClock()
  const second = { isSilent: false }
  const both = { areSilent: false }
  const shop = await startShop({
    withoutWorker: true,
    clock,
    wrapTransport: (_chainId, transport) => [
      (request, max) => (both.areSilent ? silence() : transport(request, max)),
      (request, max) => (second.isSilent || both.areSilent ? silence() : transport(request, max)),
    ],
  })
  t.after(() => shop.stop())
  return { shop, clock, second, both }
}

const silence = () => Promise.reject(new Error('status 429'))

async function answered(shop: TestShop, rail: RailUnderTest, request: object, credential: string) {
  const answer = await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
  return { isPayAgain: answer.status === 402, isFree: (await said(answer)).payment.taken === false }
}

const OWNED = { isPayAgain: false, isFree: false }

test('M-12: an authorization that somebody has carried to the chain is not called free when its time is over', async (t) => {
  const { shop, clock } = await start(t)
  const before = await x402UnderTest.till(shop)
  const { request, credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
  await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment)
  clock.move(LATE_MS)
  await shop.chains.native.request({ method: 'evm_mine', params: [] })
  assert.equal((await x402UnderTest.till(shop)) - before, LOT_PRICE)
  assert.deepEqual(await answered(shop, x402UnderTest, request, credential), OWNED)
})

for (const [when, fields, lateMs] of [
  ['its time is over', {}, LATE_MS],
  ['its nonce is used up', { nonceKey: 0n, nonce: 0n }, 0],
] as const)
  test(`M-12: a signed transaction that its payer has sent is not called free when ${when}`, async (t) => {
    const { shop, clock } = await start(t)
    const before = await mppPullUnderTest.till(shop)
    const wallet = await mppWallet(shop)
    const request = { ...LOT, beneficiary: wallet.address }
    const challenge = challengeOf(await fetch(buyUrl(shop, mppPullUnderTest), post(request)))
    const signature = wallet.sign([payingCall(challenge)], fields)
    await wallet.send(signature)
    clock.move(lateMs)
    await shop.chains.tempo.request({ method: 'evm_mine', params: [] })
    assert.equal((await mppPullUnderTest.till(shop)) - before, LOT_PRICE)
    const credential = credentialOf(challenge, { type: 'transaction', signature })
    assert.deepEqual(await answered(shop, mppPullUnderTest, request, credential), OWNED)
  })

for (const rail of [x402UnderTest, mppPullUnderTest])
  test(`M-12: a payment by ${rail.name} that has run out and nobody has carried anywhere is asked for again, though one of two nodes is silent`, async (t) => {
    const { shop, clock, second } = await start(t)
    const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
    clock.move(LATE_MS)
    second.isSilent = true
    assert.deepEqual(await answered(shop, rail, request, credential), { isPayAgain: true, isFree: true })
  })

test('M-12: an authorization that a stranger has carried is not called free while no node answers, nor with a request that buys nothing', async (t) => {
  const { shop, both } = await start(t)
  const carried = async () => {
    const { request, credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
    await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment)
    return { request, credential }
  }
  const [first, second] = [await carried(), await carried()]
  both.areSilent = true
  assert.deepEqual(await answered(shop, x402UnderTest, first.request, first.credential), OWNED)
  both.areSilent = false
  for (const request of [
    { ...first.request, saleId: 1 },
    { ...first.request, quantity: 101 },
  ])
    assert.deepEqual(await answered(shop, x402UnderTest, request, first.credential), OWNED)
  await setLot(shop, LOT.saleId, { price: '0.25', supply: 1_000_000n, closesAt: 1n })
  assert.deepEqual(await answered(shop, x402UnderTest, second.request, second.credential), OWNED)
})
